/**
 * A cage opens one regular file below a root, or says why not. It follows no link below the root,
 * never waits for a writer, and nobody gains anything by changing folders meanwhile.
 */
import { constants, type BigIntStats } from 'node:fs';
import { lstat, open, readlink, statfs, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A model's path, as names below the root. The cage decodes and resolves nothing and takes each
 * name as it stands. So `%2e%2e` is a file of that name, and `..` is refused everywhere.
 */
type WantedPath =
  | { readonly kind: 'wanted'; readonly parts: readonly string[] }
  | { readonly kind: 'refused'; readonly text: string; readonly rule: string };

/** UTF-16 code units. */
const pathLengthMax = 4_096;
const partsMax = 64;

/**
 * @param roots absolute paths of the one root: an absolute path must lie under one of them
 * @param windows backslashes separate names too, letter case is ignored, and a colon (a drive, a
 *   stream of a file) is refused
 */
export function wantedPath(path: string, roots: readonly string[], windows = false): WantedPath {
  if (path.length > pathLengthMax) return refused('odd_path', 'The path is too long.');
  if (path.includes('\0') || !path.isWellFormed()) {
    return refused('odd_path', 'The path has characters that no path has.');
  }
  const given = partsOf(path, windows);
  if (given.length > partsMax) return refused('odd_path', 'The path is too deep.');
  if (given.some(leadsUp)) {
    return refused('parent_part', 'A path may not have a part like "..": start from the root.');
  }
  const absolute = isAbsolute(path, windows);
  const parts = absolute ? partsUnder(given, roots, windows) : given;
  if (parts === null || (windows && parts.some((part) => part.includes(':')))) {
    return refused('outside_root', 'That path is not under the folder that may be read.');
  }
  return { kind: 'wanted', parts };
}

function partsOf(path: string, windows: boolean): readonly string[] {
  const parts = path.split(windows ? /[/\\]/ : '/');
  return parts.filter((part) => part !== '' && part !== '.');
}

/**
 * Whether a name consists of dots, ignoring characters that some file systems drop: invisible ones,
 * and spaces.
 */
function leadsUp(part: string): boolean {
  const seen = part.replaceAll(/[\p{Default_Ignorable_Code_Point}\s]/gu, '');
  return seen === '' || /^\.+$/.test(seen);
}

function isAbsolute(path: string, windows: boolean): boolean {
  return windows ? /^(?:[/\\]|[a-z]:)/i.test(path) : path.startsWith('/');
}

function partsUnder(
  given: readonly string[],
  roots: readonly string[],
  windows: boolean,
): readonly string[] | null {
  const same = (a: string, b: string | undefined): boolean =>
    a === b || (windows && a.toLowerCase() === b?.toLowerCase());
  for (const root of roots) {
    const above = partsOf(root, windows);
    if (above.every((part, index) => same(part, given[index]))) return given.slice(above.length);
  }
  return null;
}

function refused(rule: string, text: string): WantedPath {
  return { kind: 'refused', rule, text };
}

// The cage for systems without folder handles. It checks every part before and after the file is
// opened. All parts must be the same then, none may be a link, and the last must be the open file.
// A process that swaps folders at the right moment each time may still get past it: the window is
// narrow, not closed.

/** An attacker has to deceive each of these checks. */
const checksAfter = 3;

export async function openByComparing(root: string, parts: readonly string[]): Promise<Opened> {
  let file: FileHandle | null = null;
  try {
    if ((await realpath(root)) !== root) return rootMoved;
    const before = await statParts(root, parts);
    if ('kind' in before) return before;
    const fault = kindFault(before.at(-1)!);
    if (fault !== null) return fault;
    file = await open(join(root, ...parts), fileFlags);
    const stats = await file.stat({ bigint: true });
    const last = kindFault(stats);
    if (last !== null) return last;
    for (let count = 0; count < checksAfter; count++) {
      const after = await statParts(root, parts);
      if ('kind' in after || !areSame(before, after)) return movedRefusal;
      if (!isSame(stats, after.at(-1)!)) return movedRefusal;
    }
    const opened = { kind: 'opened', file, size: Number(stats.size) } as const;
    file = null;
    return opened;
  } catch (error) {
    return openFault(error);
  } finally {
    await file?.close();
  }
}

/** The current state of every part, the root included. */
async function statParts(
  root: string,
  parts: readonly string[],
): Promise<readonly BigIntStats[] | NotOpened> {
  const seen = [await lstat(root, { bigint: true })];
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    const stats = await lstat(path, { bigint: true });
    if (stats.isSymbolicLink()) return linkRefusal;
    seen.push(stats);
  }
  return seen;
}

function areSame(before: readonly BigIntStats[], after: readonly BigIntStats[]): boolean {
  return before.every((stats, index) => isSame(stats, after[index]!));
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/**
 * Opens the file named by `parts`, from the root downwards; `parts` has at least one.
 * @param root its real path, of which no part is a link; otherwise the root has changed
 */
export type Cage = (root: string, parts: readonly string[]) => Promise<Opened>;

/** The caller closes the file. `rule` is a stable code for the reason of a refusal. */
export type Opened =
  | { readonly kind: 'opened'; readonly file: FileHandle; readonly size: number }
  | NotOpened;

export type NotOpened =
  | { readonly kind: 'refused'; readonly text: string; readonly rule: string }
  | { readonly kind: 'failed'; readonly text: string };

/** Windows has no such flags, and no such files. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants as Partial<typeof constants>;

/** For the file itself: does not follow a link, does not wait for a pipe. */
export const fileFlags = constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

export const linkRefusal: NotOpened = {
  kind: 'refused',
  rule: 'link',
  text: 'That path leads over a link, and links are not followed here.',
};

export const movedRefusal: NotOpened = {
  kind: 'refused',
  rule: 'moved',
  text: 'The folders changed while the file was opened, so it was not read. Try again.',
};

export const folderRefusal: NotOpened = {
  kind: 'refused',
  rule: 'not_a_file',
  text: 'That is a folder, not a file.',
};

const oddFileRefusal: NotOpened = {
  kind: 'refused',
  rule: 'not_a_file',
  text: 'That is not an ordinary file.',
};

export const databaseRefusal: NotOpened = {
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

/** @returns why a file of that kind is not opened; null: it may be opened */
export function kindFault(stats: BigIntStats): NotOpened | null {
  if (stats.isSymbolicLink()) return linkRefusal;
  if (stats.isDirectory()) return folderRefusal;
  if (!stats.isFile()) return oddFileRefusal;
  if (stats.nlink > 1n) {
    const text = 'That file has a second name (a hard link), which may lie outside the folder.';
    return { kind: 'refused', rule: 'hard_link', text };
  }
  return null;
}

/** The system's error, for the model: it names no path that the model did not write itself. */
export function openFault(error: unknown): NotOpened {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  if (code === 'ELOOP' || code === 'EMLINK') return linkRefusal;
  if (code === 'ENXIO') return oddFileRefusal;
  const texts: Readonly<Record<string, string>> = {
    ENOENT: 'There is no such file.',
    ENOTDIR: 'There is no such file: a part of the path is not a folder.',
    EACCES: 'The service may not read that file.',
    EPERM: 'The service may not read that file.',
    ENAMETOOLONG: 'There is no such file: a name in the path is too long.',
  };
  return { kind: 'failed', text: texts[code] ?? `The file could not be opened (${code}).` };
}

/**
 * The cage for systems with `/proc`. It opens every part separately, through the handle of the
 * folder before it (`/proc/self/fd/<folder>/<part>`, which is openat(2)), and follows no link. If
 * somebody swaps an opened folder for a link, the handle still holds the folder. At the end it
 * reads the path of the open file (readlink of `/proc/self/fd/<file>`): if a folder was moved away
 * meanwhile, the file is outside the root. Source: proc(5), open(2).
 */
const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * File systems whose files are views of the kernel and of processes, with this process's
 * environment among them. Source: linux/magic.h.
 */
const kernelViews: ReadonlySet<number> = new Set([0x9fa0, 0x62656572]);

/** @returns null if `/proc` does not show the open file */
export async function openOnLinux(root: string, parts: readonly string[]): Promise<Opened | null> {
  let base: FileHandle;
  try {
    base = await open(root, folderFlags);
  } catch {
    return rootMissing;
  }
  try {
    const path = await pathOf(base);
    if (path === null) return null;
    return path.equals(Buffer.from(root)) ? await openBelow(base, parts) : rootMoved;
  } finally {
    await base.close();
  }
}

async function openBelow(base: FileHandle, parts: readonly string[]): Promise<Opened> {
  let folder = base;
  try {
    for (const part of parts.slice(0, -1)) {
      const next = await openFolder(folder, part);
      if ('kind' in next) return next;
      if (folder !== base) await folder.close();
      folder = next;
    }
    return await openFile(base, folder, parts.at(-1)!);
  } finally {
    if (folder !== base) await folder.close();
  }
}

async function openFolder(folder: FileHandle, part: string): Promise<FileHandle | NotOpened> {
  const path = within(folder, part);
  try {
    return await open(path, folderFlags);
  } catch (error) {
    const stats = await lstat(path).catch(() => null);
    return stats?.isSymbolicLink() === true ? linkRefusal : openFault(error);
  }
}

async function openFile(base: FileHandle, folder: FileHandle, name: string): Promise<Opened> {
  const path = within(folder, name);
  let file: FileHandle;
  try {
    // Opening a device can trigger it, so anything but a file is refused before, if that is
    // visible.
    const fault = kindFault(await lstat(path, { bigint: true }));
    if (fault !== null) return fault;
    file = await open(path, fileFlags);
  } catch (error) {
    return openFault(error);
  }
  const checked = await checkOpen(base, file);
  if (checked.kind !== 'opened') await file.close();
  return checked;
}

async function checkOpen(base: FileHandle, file: FileHandle): Promise<Opened> {
  try {
    const stats = await file.stat({ bigint: true });
    const fault = kindFault(stats);
    if (fault !== null) return fault;
    if (kernelViews.has((await statfs(handlePath(file))).type)) {
      const text = 'That is a view of the system, not a file.';
      return { kind: 'refused', rule: 'system_view', text };
    }
    const above = await pathOf(base);
    const own = await pathOf(file);
    if (above === null || own === null || !liesBelow(own, above)) return movedRefusal;
    return { kind: 'opened', file, size: Number(stats.size) };
  } catch (error) {
    return openFault(error);
  }
}

function handlePath({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

function within(folder: FileHandle, part: string): string {
  return `${handlePath(folder)}/${part}`;
}

/** As bytes: two names that are not UTF-8 must not look alike. */
async function pathOf(handle: FileHandle): Promise<Buffer | null> {
  return readlink(handlePath(handle), 'buffer').catch(() => null);
}

function liesBelow(own: Buffer, above: Buffer): boolean {
  const prefix = above.equals(slash) ? slash : Buffer.concat([above, slash]);
  return own.length > prefix.length && own.subarray(0, prefix.length).equals(prefix);
}

const slash = Buffer.from('/');
