/**
 * The package for npm, twice. The plain one leaves the Node to the person who installs it. The
 * other one names, as optional packages, a Node for each platform: npm cannot choose to bring one
 * only where it is missing.
 */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundledIn } from '../bundled.ts';
import { isExternal } from '../external.ts';
import { publishedFiles } from './checkout.ts';
import { copyBelow, newFolder } from './files.ts';
import { pin, type Lock } from './lock.ts';
import { setPlainModes } from './modes.ts';
import { run } from './run.ts';
import { thirdPartyText } from './third-party.ts';

type Versions = Readonly<Record<string, string>>;
type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly files: readonly string[];
  readonly dependencies: Versions;
  readonly optionalDependencies: Versions;
} & Readonly<Record<string, unknown>>;

export type TarballOptions = {
  /** Of the checkout, whose program and pages are built. */
  readonly root: string;
  /** Where it is put. */
  readonly folder: string;
  /** A folder of its own. */
  readonly scratch: string;
  readonly withNode: boolean;
};

/** @returns the tarball, absolute */
export async function makeTarball({ root, folder, scratch, withNode }: TarballOptions) {
  const manifest = readJson(join(root, 'package.json')) as Manifest;
  const wanted = publishedOf(root, manifest, withNode);
  const locked = readJson(join(root, 'package-lock.json')) as Lock;
  const { manifest: published, lock } = pin(locked, wanted);
  const stage = newFolder(scratch, 'package');
  layFiles(root, manifest.files, stage);
  write(stage, 'package.json', `${JSON.stringify(published, null, 2)}\n`);
  write(stage, 'npm-shrinkwrap.json', `${JSON.stringify(lock, null, 2)}\n`);
  const packages = bundledIn([join(root, 'dist'), join(root, 'web', 'dist')]);
  write(stage, 'THIRD-PARTY.txt', thirdPartyText(root, packages));
  setPlainModes(stage);
  const said = await pack(stage, scratch);
  const packed = join(scratch, packedName(said));
  const made = join(folder, tarballName(published, withNode));
  copyFileSync(packed, made);
  return made;
}

/** Nothing is written to the person's home, which may be read-only, and no registry is asked. */
function pack(stage: string, scratch: string): Promise<string> {
  const own = ['--cache', join(scratch, 'npm-cache'), '--no-update-notifier'];
  return run('npm', ['pack', '--json', '--ignore-scripts', ...own, stage], { cwd: scratch });
}

/** What a build has made there is all of its folder; of the others, what a commit has. */
function layFiles(root: string, names: readonly string[], stage: string): void {
  const isBuilt = (name: string): boolean => /^(?:web\/)?dist(?:\/|$)/.test(name);
  for (const name of names.filter(isBuilt)) {
    cpSync(join(root, name), join(stage, name), { recursive: true });
  }
  const kept = names.filter((name) => !isBuilt(name));
  for (const path of publishedFiles(root, kept)) copyBelow(stage, path, join(root, path));
}

/**
 * What the packages ask for that are not built in. svc itself asks for nothing where a Node comes
 * along, and `engines` of the checkout is for the build tools.
 */
const nodeOfPackages = '>=20.8';

/** The fields that mean something in a checkout alone. */
const ofCheckout = new Set(['devDependencies', 'overrides', 'private', 'scripts']);

/** What is built in is named by nobody; what is for development stays in the checkout. */
function publishedOf(root: string, manifest: Manifest, withNode: boolean): Manifest {
  const kept = Object.entries(manifest).filter(([name]) => !ofCheckout.has(name));
  const isNode = (name: string): boolean => name.startsWith('node-');
  const pick = (all: Versions, isWanted: (name: string) => boolean): Versions => {
    return Object.fromEntries(Object.entries(all).filter(([name]) => isWanted(name)));
  };
  return {
    ...(Object.fromEntries(kept) as Manifest),
    files: [...manifest.files, 'npm-shrinkwrap.json', 'THIRD-PARTY.txt'],
    dependencies: pick(manifest.dependencies, isExternal),
    optionalDependencies: pick(manifest.optionalDependencies, (name) => {
      return isExternal(name) || (withNode && isNode(name));
    }),
    engines: { node: withNode ? nodeOfPackages : `>=${nodeMajorMin(root)}` },
  };
}

/** Of the launcher, which is plain JavaScript. */
function nodeMajorMin(root: string): string {
  const text = readFileSync(join(root, 'bin', 'bundled-node.js'), 'utf8');
  const [, major] = /nodeMajorMin = (\d+)/.exec(text) ?? [];
  if (major === undefined) throw new Error('bin/bundled-node.js names no version of Node');
  return major;
}

function tarballName({ name, version }: Manifest, withNode: boolean): string {
  const plain = name.replace(/^@/, '').replace('/', '-');
  return `${plain}${withNode ? '-with-node' : ''}-${version}.tgz`;
}

/** npm 10 tells an array of what it packed, npm 12 an object by name. */
function packedName(said: string): string {
  const [one] = Object.values(JSON.parse(said) as Record<string, { filename: string }>);
  return basename(one!.filename);
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}
