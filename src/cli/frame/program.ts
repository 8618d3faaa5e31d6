/** Where this program lies: the folder that holds package.json, from sources and from dist/. */
import { existsSync, readFileSync } from 'node:fs';
import type { Io } from '../cli.ts';

export function packageRoot(): URL {
  const candidates = ['../', '../../../'].map((up) => new URL(up, import.meta.url));
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
export function commandName({ SVC_COMMAND: named = '' }: Io['env']): string {
  return /^[\w./~\\:-]+$/.test(named) && !named.startsWith('-') ? named : 'svc';
}

/** A clock that shows a time before this is wrong: it is the day of this version's code. */
export const versionAt = Date.UTC(2026, 10, 21);
