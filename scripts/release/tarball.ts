/**
 * Makes the package for npm, twice. With the plain one, a person installs Node. The other names a
 * Node for each platform as optional packages, since npm cannot install one only where it is
 * missing.
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
  /** The root of a checkout with a built program and built pages. */
  readonly root: string;
  /** The output folder. */
  readonly folder: string;
  /** An empty folder of its own. */
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
  const output = await pack(stage, scratch);
  const packed = join(scratch, packedName(output));
  const made = join(folder, tarballName(published, withNode));
  copyFileSync(packed, made);
  return made;
}

/** Writes nothing to the person's home, which may be read-only, and asks no registry. */
function pack(stage: string, scratch: string): Promise<string> {
  const own = ['--cache', join(scratch, 'npm-cache'), '--no-update-notifier'];
  return run('npm', ['pack', '--json', '--ignore-scripts', ...own, stage], { cwd: scratch });
}

/** Copies all files of build folders, and of other folders only the files that git knows. */
function layFiles(root: string, names: readonly string[], stage: string): void {
  const isBuilt = (name: string): boolean => /^(?:web\/)?dist(?:\/|$)/.test(name);
  for (const name of names.filter(isBuilt)) {
    cpSync(join(root, name), join(stage, name), { recursive: true });
  }
  const kept = names.filter((name) => !isBuilt(name));
  for (const path of publishedFiles(root, kept)) copyBelow(stage, path, join(root, path));
}

/**
 * The range that the packages outside the bundle need. With its own Node, svc itself needs none,
 * and the checkout's `engines` is for the build tools.
 */
const nodeOfPackages = '>=20.8';

/** Fields that have a meaning only in a checkout. */
const ofCheckout = new Set(['devDependencies', 'overrides', 'private', 'scripts']);

/** Removes the built-in packages and the fields for development. */
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

/** The minimum in the launcher, which is plain JavaScript. */
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

/** npm 10 prints an array of packages, npm 12 an object by name. */
function packedName(output: string): string {
  const [one] = Object.values(JSON.parse(output) as Record<string, { filename: string }>);
  return basename(one!.filename);
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}
