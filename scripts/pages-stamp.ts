/**
 * Tells whether web/dist/ matches the sources of the pages, by a hash of its inputs. A build works
 * in its own folder and replaces web/dist/ when it is complete. So an interrupted or a parallel
 * build never separates the pages from their hash.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
export const pagesFolder = join(root, 'web', 'dist');
export const pageNames = ['live', 'builder', 'setup'] as const;
const stampName = '.inputs';

/** Contains everything that the pages import; test/project/pages-place.slow.test.ts checks this. */
const inputs = [
  'web/{live,builder,setup,kit}/**/*.{ts,tsx,css,html,svg}',
  'src/{config,domain}/**/*.ts',
  'src/channels/{kind,registry,*/kind,messenger/messenger-kind}.ts',
  'src/lib/{address-range,durations,ip-address,json}.ts',
  'apps/setup/setup.ts',
  'src/app/test-cases/expectation.ts',
  'src/brains/policies/*.ts',
  'scripts/{bundled,pages,pages-stamp}.ts',
  '{,web/}tsconfig.json',
  'package-lock.json',
];

export function arePagesFresh(folder = pagesFolder, hash = inputsHash()): boolean {
  try {
    const isWhole = pageNames.every((name) => existsSync(join(folder, name, 'index.html')));
    return isWhole && readFileSync(join(folder, stampName), 'utf8') === hash;
  } catch {
    return false;
  }
}

/** Removes the hash, since a build of one page says nothing about the other pages. */
export function forgetPages(): void {
  rmSync(join(pagesFolder, stampName), { force: true });
}

/**
 * Makes a folder to build in, and removes the folders of killed builds.
 * @param folder the one that the new folder will replace
 */
export function beginFolder(folder: string): string {
  const parent = dirname(folder);
  const prefix = `.${basename(folder)}-`;
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(prefix) ? parseInt(name.slice(prefix.length), 10) : NaN;
    if (pid > 0 && !lives(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const made = join(parent, `${prefix}${process.pid}`);
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made);
  return made;
}

/** Builds that end at the same moment replace each other's folder. */
const triesMax = 1_000;

/** @param hash of the inputs when the build began */
export function putPages(made: string, hash: string, folder = pagesFolder): void {
  writeFileSync(join(made, stampName), hash);
  putFolder(made, folder);
}

/** Moves the built folder to its final place. */
export function putFolder(made: string, folder: string): void {
  const before = `${made}-before`;
  for (let tried = 1; ; tried++) {
    rmSync(before, { recursive: true, force: true });
    rename(folder, before, ['ENOENT']);
    if (rename(made, folder, tried < triesMax ? ['ENOTEMPTY', 'EEXIST'] : [])) break;
  }
  rmSync(before, { recursive: true, force: true });
}

/** @returns whether the rename succeeded; throws an error that is not expected */
function rename(from: string, to: string, expected: readonly string[]): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (expected.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export function inputsHash(): string {
  const hash = createHash('sha256');
  for (const file of inputFiles()) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/** Relative to the root of the project, in order. */
export function inputFiles(): readonly string[] {
  const files = globSync(inputs, { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  return files.sort();
}
