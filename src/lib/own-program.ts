/**
 * How this program starts itself, for a role that is a process of its own.
 * The same Node runs it, so that an old one that only launches is left out; a program of one file
 * is started by its own name, which takes no script.
 */
import { existsSync } from 'node:fs';
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

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
