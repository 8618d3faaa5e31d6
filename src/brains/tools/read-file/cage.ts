/**
 * A cage opens one regular file below a root, or says why not. It follows no link below the root,
 * never waits for a writer, and a change of the folders meanwhile gains nobody anything.
 */
import { constants, type BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/**
 * Opens what the parts name, from the root downwards; `parts` has one at least.
 * @param root its real path, of which no part is a link; otherwise it is not the root that was
 *   meant
 */
export type Cage = (root: string, parts: readonly string[]) => Promise<Opened>;

/** The file is the caller's to close. `rule` is a stable code of what the cage forbids. */
export type Opened =
  | { readonly kind: 'opened'; readonly file: FileHandle; readonly size: number }
  | NotOpened;

export type NotOpened =
  | { readonly kind: 'refused'; readonly text: string; readonly rule: string }
  | { readonly kind: 'failed'; readonly text: string };

/** Windows has no such flags, and no such files. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants as Partial<typeof constants>;

/** For the file itself: a link is not followed, a pipe not waited for. */
export const fileFlags = constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

export const linkMet: NotOpened = {
  kind: 'refused',
  rule: 'link',
  text: 'That path leads over a link, and links are not followed here.',
};

export const movedAway: NotOpened = {
  kind: 'refused',
  rule: 'moved',
  text: 'The folders changed while the file was opened, so it was not read. Try again.',
};

export const isFolder: NotOpened = {
  kind: 'refused',
  rule: 'not_a_file',
  text: 'That is a folder, not a file.',
};

const isOdd: NotOpened = {
  kind: 'refused',
  rule: 'not_a_file',
  text: 'That is not an ordinary file.',
};

export const isHeld: NotOpened = {
  kind: 'refused',
  rule: 'in_use',
  text: 'That file is of the database of this service, and is not read.',
};

export const rootMoved: NotOpened = {
  kind: 'refused',
  rule: 'root_moved',
  text: 'The folder that may be read is not the one that it was when the service started.',
};

export const rootAbsent: NotOpened = {
  kind: 'refused',
  rule: 'root_absent',
  text:
    'The folder that may be read was not there when the configuration was taken. Once it is ' +
    'there, svc has to take the configuration again.',
};

export const rootMissing: NotOpened = {
  kind: 'failed',
  text: 'The folder that may be read cannot be opened.',
};

/** @returns why a file of that kind is not opened; null: it may be */
export function kindFault(stats: BigIntStats): NotOpened | null {
  if (stats.isSymbolicLink()) return linkMet;
  if (stats.isDirectory()) return isFolder;
  if (!stats.isFile()) return isOdd;
  if (stats.nlink > 1n) {
    const text = 'That file has a second name (a hard link), which may lie outside the folder.';
    return { kind: 'refused', rule: 'hard_link', text };
  }
  return null;
}

/** What the system said, for the model: it names no path that the model did not write itself. */
export function openFault(error: unknown): NotOpened {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  if (code === 'ELOOP' || code === 'EMLINK') return linkMet;
  if (code === 'ENXIO') return isOdd;
  const texts: Readonly<Record<string, string>> = {
    ENOENT: 'There is no such file.',
    ENOTDIR: 'There is no such file: a part of the path is not a folder.',
    EACCES: 'The service may not read that file.',
    EPERM: 'The service may not read that file.',
    ENAMETOOLONG: 'There is no such file: a name in the path is too long.',
  };
  return { kind: 'failed', text: texts[code] ?? `The file could not be opened (${code}).` };
}
