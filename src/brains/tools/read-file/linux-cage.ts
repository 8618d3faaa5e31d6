/**
 * The cage where `/proc` is. Every part is opened by itself, through the handle of the folder
 * before it (`/proc/self/fd/<folder>/<part>`, which is openat(2)), and no link is followed: a
 * folder that is swapped for a link after it was opened stays the folder that it was. What is open
 * in the end is asked for its path (readlink of `/proc/self/fd/<file>`): a folder that was moved
 * away meanwhile took the file out of the root. Source: proc(5), open(2).
 */
import { constants } from 'node:fs';
import { lstat, open, readlink, statfs, type FileHandle } from 'node:fs/promises';
import {
  fileFlags,
  kindFault,
  linkMet,
  movedAway,
  openFault,
  rootMissing,
  rootMoved,
  type NotOpened,
  type Opened,
} from './cage.ts';

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * File systems whose files are views of the kernel and of processes, this one's environment among
 * them. Source: linux/magic.h.
 */
const kernelViews: ReadonlySet<number> = new Set([0x9fa0, 0x62656572]);

/** @returns null where `/proc` does not tell what is open */
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
    return stats?.isSymbolicLink() === true ? linkMet : openFault(error);
  }
}

async function openFile(base: FileHandle, folder: FileHandle, name: string): Promise<Opened> {
  const path = within(folder, name);
  let file: FileHandle;
  try {
    // To open a device can set it off, so what is no file is not opened where that can be seen.
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
    const [above, own] = [await pathOf(base), await pathOf(file)];
    if (above === null || own === null || !lies(own, above)) return movedAway;
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

/** As bytes: two names that are no UTF-8 must not look alike. */
async function pathOf(handle: FileHandle): Promise<Buffer | null> {
  return readlink(handlePath(handle), 'buffer').catch(() => null);
}

function lies(own: Buffer, above: Buffer): boolean {
  const prefix = above.equals(slash) ? slash : Buffer.concat([above, slash]);
  return own.length > prefix.length && own.subarray(0, prefix.length).equals(prefix);
}

const slash = Buffer.from('/');
