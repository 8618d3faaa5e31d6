/** Where this program lies: the folder that holds package.json, from sources and from dist/. */
import { existsSync, readFileSync } from 'node:fs';

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
