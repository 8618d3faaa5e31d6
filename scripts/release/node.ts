/** The Node that a form of svc brings along: the one that the lock names, for its platform. */
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

export type NodeOptions = {
  /** Of the checkout. */
  readonly root: string;
  /** A folder of its own. */
  readonly scratch: string;
  /** The package of npm that has it, one of the optional ones of package.json. */
  readonly name: string;
};

type Entry = { readonly version: string; readonly integrity: string };

/**
 * Gets the package as npm does, and looks at its digest.
 * @returns the program of Node, absolute
 * @throws where it is not what the lock names
 */
export async function nodeOf({ root, scratch, name }: NodeOptions): Promise<string> {
  const { version, integrity } = entryOf(root, name);
  const args = ['pack', '--json', `${name}@${version}`, '--pack-destination', scratch];
  await run('npm', args, { cwd: scratch });
  const tarball = join(scratch, `${name}-${version}.tgz`);
  const digest = createHash('sha512').update(readFileSync(tarball)).digest('base64');
  if (integrity !== `sha512-${digest}`) {
    throw new Error(`${name} ${version} is not what package-lock.json names: sha512-${digest}`);
  }
  const unpacked = join(scratch, name);
  mkdirSync(unpacked);
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', unpacked]);
  return join(unpacked, 'bin', name.includes('-win-') ? 'node.exe' : 'node');
}

/** That of this machine, which the checkout was installed with. */
export const nodePackage = (): string => `node-linux-${process.arch}`;

/**
 * Copies the Node of this machine without what only a debugger reads, which is a fifth of it.
 * @param made where it is put, absolute
 */
export async function stripNode(root: string, made: string): Promise<void> {
  copyFileSync(join(root, 'node_modules', nodePackage(), 'bin', 'node'), made);
  chmodSync(made, 0o755);
  await run('strip', ['--strip-unneeded', made]);
}

function entryOf(root: string, name: string): Entry {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Entry>>;
  };
  const entry = lock.packages[`node_modules/${name}`];
  if (entry === undefined) throw new Error(`package-lock.json has no ${name}`);
  return entry;
}
