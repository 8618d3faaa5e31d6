/** Where this program lies: the folder that holds package.json, from sources and from dist/. */
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

/** How this person calls the program, for a line to copy; the launcher of a checkout tells it. */
export function commandName({ SVC_COMMAND: named = '' }: Env): string {
  if (named === '' || /\p{Cc}/u.test(named)) return 'svc';
  // The launcher of Windows is typed as it is, with its backslashes.
  return /^[\w.\\:-]+$/.test(named) && !named.startsWith('-') ? named : forShell(named);
}

/** A word of a line that a person copies into a shell. */
export function forShell(name: string): string {
  // At the beginning a dash would be a flag, and a tilde a home folder.
  const path = /^[-~]/.test(name) ? `./${name}` : name;
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

/** A clock that shows a time before this is wrong: it is the day of this version's code. */
export const versionAt = Date.UTC(2026, 10, 21);

/**
 * How this program starts itself, for a role that is a process of its own.
 * The same Node runs it, so that an old one that only launches is left out; a program of one file
 * is started by its own name, which takes no script.
 */
export type OwnProgram = { readonly file: string; readonly args: readonly string[] };

/** @param words what stands behind `svc`: `internal keychain`, `serve --config …` */
export function ownProgram(...words: readonly string[]): OwnProgram {
  if (isSea()) return { file: process.execPath, args: words };
  // Until the program listens to the signal itself, no debugger may open at it.
  return { file: process.execPath, args: ['--disable-sigusr1', launcher(), ...words] };
}

/** It lies beside `src/`, and beside `dist/`, where this file is a part of another one. */
function launcher(): string {
  const places = ['../bin/svc.js', '../../bin/svc.js'].map((up) => new URL(up, import.meta.url));
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error('bin/svc.js is missing beside the program');
  return fileURLToPath(found);
}

// How this program starts a thread of its own.

/**
 * No thread but the first one sees the files in a program of one file. There the thread is started
 * from its text, so that it imports nothing but Node's own modules: the build puts it in one file.
 * @param file of the thread, beside the module that asks
 */
export function startThread(file: URL, options: WorkerOptions = {}): Worker {
  if (!isSea()) return new Worker(file, options);
  return new Worker(readFileSync(file, 'utf8'), { ...options, eval: true });
}
