/**
 * The files of this program, and how it starts itself: a process or a thread. The root folder holds
 * package.json, both for the sources and for dist/.
 */
import { existsSync, readFileSync } from 'node:fs';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

type Env = Readonly<Record<string, string | undefined>>;

export function packageRoot(): URL {
  const candidates = ['../', '../../'].map((up) => new URL(up, import.meta.url));
  const root = candidates.find((folder) => existsSync(new URL('package.json', folder)));
  if (root === undefined) throw new Error('package.json is missing beside the program');
  return root;
}

/** The version that package.json names. */
export function programVersion(): string {
  const text = readFileSync(new URL('package.json', packageRoot()), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * The name of the program in a line for this person to copy. The launcher of a checkout sets the
 * variable.
 */
export function commandName({ SVC_COMMAND: named = '' }: Env): string {
  if (named === '' || /\p{Cc}/u.test(named)) return 'svc';
  // A person types the launcher of Windows as it is, with its backslashes.
  return /^[\w.\\:-]+$/.test(named) && !named.startsWith('-') ? named : forShell(named);
}

/** Quotes a word in a line that a person copies into a shell. */
export function forShell(name: string): string {
  // At the beginning, a dash would be a flag, and a tilde a home folder.
  const path = /^[-~]/.test(name) ? `./${name}` : name;
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

/** The day of this version's code. A clock that shows an earlier time is wrong. */
export const versionAt = Date.UTC(2026, 10, 21);

/**
 * How this program starts itself, for a role with its own process. The same Node runs it, so an old
 * Node that only launches is left out. A single-file program starts by its own name and takes no
 * script.
 */
export type OwnProgram = { readonly file: string; readonly args: readonly string[] };

/** @param words the words after `svc`: `internal keychain`, `serve --config …` */
export function ownProgram(...words: readonly string[]): OwnProgram {
  if (isSea()) return { file: process.execPath, args: words };
  // No debugger may open at SIGUSR1 before the program handles that signal itself.
  return { file: process.execPath, args: ['--disable-sigusr1', launcher(), ...words] };
}

/** The launcher is beside `src/` and `dist/`. In dist/ this file is a part of another file. */
function launcher(): string {
  const places = ['../bin/svc.js', '../../bin/svc.js'].map((up) => new URL(up, import.meta.url));
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error('bin/svc.js is missing beside the program');
  return fileURLToPath(found);
}

/**
 * Starts a thread of this program. Only the first thread sees the files in a single-file program.
 * There the thread starts from its text, so it may import only Node's own modules: the build puts
 * the thread in one file.
 * @param file the file of the thread, beside the module that calls
 */
export function startThread(file: URL, options: WorkerOptions = {}): Worker {
  if (!isSea()) return new Worker(file, options);
  return new Worker(readFileSync(file, 'utf8'), { ...options, eval: true });
}
