/** Gets the Node that a form of svc contains: the version of the lock, for the form's platform. */
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

export type NodeOptions = {
  /** The root of the checkout. */
  readonly root: string;
  /** An empty folder of its own. */
  readonly scratch: string;
  /** The npm package that contains it, an optional dependency in package.json. */
  readonly name: string;
};

type Entry = { readonly version: string; readonly integrity: string };

/**
 * Downloads the package with npm and checks its digest.
 * @returns the program of Node, absolute
 * @throws where its digest differs from the lock
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

/** The package for this machine, present since the checkout's install. */
export const nodePackage = (): string => `node-linux-${process.arch}`;

/**
 * Copies the Node of this machine without debug symbols, a fifth of its size.
 * @param made the path of the copy, absolute
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
