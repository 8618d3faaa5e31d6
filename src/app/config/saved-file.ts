/**
 * Replaces a file as a whole: a reader finds the old or the new text, even after a power cut. The
 * file keeps its mode and, if the system allows it, its owner. A link stays, and the file that it
 * leads to is replaced. A missing file is created, for this user alone.
 */
import { lstat, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** `message` is a sentence that names the obstacle and the remedy. */
export type SaveFault = { readonly kind: 'fault'; readonly message: string };
export type Saved = { readonly kind: 'saved' } | SaveFault | { readonly kind: 'changed' };

export type Replacement = {
  readonly text: string;
  /** Called before the last step; false: the file stays as it is. */
  readonly unchanged: () => Promise<boolean>;
};

/**
 * @param path absolute
 * @returns `changed`: `unchanged` found another file
 */
export async function replaceFile(path: string, { text, unchanged }: Replacement): Promise<Saved> {
  try {
    const target = await targetOf(path);
    const facts = await stat(target).catch(nullIfMissing);
    if (facts?.isFile() === false) {
      return fault(`${path} is no plain file, so nothing can be saved in its place. ${byHand}`);
    }
    const part = join(dirname(target), `.${basename(target)}.new`);
    try {
      await writeNew(part, text, async (handle) => {
        if (facts === null) return;
        await giveTo(handle, facts);
        await handle.chmod(facts.mode & 0o7777);
      });
      if (!(await unchanged())) return { kind: 'changed' };
      await rename(part, target);
    } finally {
      await rm(part, { force: true });
    }
    await syncFolder(dirname(target));
    return { kind: 'saved' };
  } catch (error) {
    return fault(sentenceOf(error as NodeJS.ErrnoException, path));
  }
}

/** Follows every link. A link that leads nowhere is a fault, since its target may be a mistake. */
async function targetOf(path: string): Promise<string> {
  const isThere = (await lstat(path).catch(nullIfMissing)) !== null;
  return isThere ? realpath(path) : join(await realpath(dirname(path)), basename(path));
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** Writes a file that only this user can read, and syncs it. A failure leaves no file. */
export async function writeNew(
  path: string,
  text: string,
  before: (handle: FileHandle) => Promise<void> = async () => {},
): Promise<void> {
  // Removes a link that somebody put there, or a file that a crash left half written.
  await rm(path, { force: true });
  await using handle = await open(path, 'wx', 0o600);
  await handle.writeFile(text);
  await before(handle);
  await handle.sync();
}

/** Syncs a folder's entries to the disk. Windows has no call for it, and needs none. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(path, 'r');
  await handle.sync();
}

/**
 * Keeps the owner if possible: only root may give a file away, others only to a group of theirs.
 */
async function giveTo(handle: FileHandle, { uid, gid }: { uid: number; gid: number }) {
  const own = await handle.stat();
  if (own.uid === uid && own.gid === gid) return;
  const refused = (): void => {};
  await handle.chown(uid, gid).catch(() => handle.chown(own.uid, gid).catch(refused));
}

const byHand = 'Edit the file by hand and send svc a SIGHUP.';

function sentenceOf({ code = 'unknown error' }: NodeJS.ErrnoException, path: string): string {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return (
        `svc may not write in the folder of ${path} (${code}). Give its user the right to, or ` +
        'edit the file by hand and send svc a SIGHUP.'
      );
    case 'EBUSY':
      return `${path} is mounted by itself, so it cannot be replaced: mount its folder instead.`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk of ${path} is full. Make room on it.`;
    default:
      return `${path} cannot be replaced (${code}). ${byHand}`;
  }
}

function fault(message: string): SaveFault {
  return { kind: 'fault', message };
}
