/**
 * Whether web/dist/ is what the sources of the pages make: it keeps a hash of its inputs. A build
 * works in a folder of its own, which takes the place of web/dist/ when it is whole. So what lies
 * there is always one build with the hash that belongs to it, though a build is interrupted, or
 * another one runs beside it.
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

/** test/project/pages-place.slow.test.ts follows what the pages import: all of it is here. */
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

/** Where one page alone is built, nothing is known of the others. */
export function forgetPages(): void {
  rmSync(join(pagesFolder, stampName), { force: true });
}

/**
 * Makes a folder to build in, and removes those of builds that were killed.
 * @param folder the one that it is to take the place of
 */
export function beginFolder(folder: string): string {
  const [parent, prefix] = [dirname(folder), `.${basename(folder)}-`];
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

/** Builds that end at the same moment put theirs in the place of each other's. */
const triesMax = 1_000;

/** @param hash of the inputs as they were when the build began */
export function putPages(made: string, hash: string, folder = pagesFolder): void {
  writeFileSync(join(made, stampName), hash);
  putFolder(made, folder);
}

/** Puts what was built in its place. */
export function putFolder(made: string, folder: string): void {
  const before = `${made}-before`;
  for (let tried = 1; ; tried++) {
    rmSync(before, { recursive: true, force: true });
    rename(folder, before, ['ENOENT']);
    if (rename(made, folder, tried < triesMax ? ['ENOTEMPTY', 'EEXIST'] : [])) break;
  }
  rmSync(before, { recursive: true, force: true });
}

/** @returns whether it was done; an error that is not among those is thrown */
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

/** From the root of the project, in order. */
export function inputFiles(): readonly string[] {
  const files = globSync(inputs, { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  return files.sort();
}
