/** The files of a database: who may read them, and who owns them. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolderSync } from '../../../lib/make-folder.ts';
import { holderOfFile, lockerOfByte } from '../../../lib/holders.ts';

/** A process that asks whether there is an owner holds the lock's file for a moment. */
const askedMs = 200;

/**
 * Makes the folder (for this user alone) where it is missing, and the file. A folder that exists
 * keeps its rights.
 * @throws what the system says, where that is not allowed
 */
export function prepareFiles(path: string): void {
  const folder = dirname(path);
  makeFolderSync(folder, 0o700);
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

/** What this user may still write on the disk of a file. */
export function freeBytesAt(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/**
 * Writes the bytes of the log that an unclean stop left once more, in place, and syncs them. After
 * a sync that failed, the system may take for safe what never reached the disk, and no later sync
 * writes it again; messages accepted on top of it would be lost with it at a power cut. Only the
 * owner calls this, before SQLite has the files open.
 * @throws what the system says
 */
export function rewriteLog(path: string): void {
  const log = `${path}-wal`;
  if (!existsSync(log)) return;
  const file = openSync(log, 'r+');
  try {
    const part = Buffer.allocUnsafe(rewriteBytes);
    for (let at = 0; ;) {
      const got = readSync(file, part, 0, rewriteBytes, at);
      if (got === 0) break;
      at += writeSync(file, part, 0, got, at);
    }
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

const rewriteBytes = 1024 * 1024;

/** Held for as long as the process owns the database. */
export type OwnerLock = { release(): void };

/**
 * Takes the lock: an exclusive transaction on a second SQLite file, which the system frees however
 * the process ends. A file with a process id in it would outlive a kill.
 * @returns null when another process holds it
 */
export function takeOwnerLock(path: string): OwnerLock | null {
  const file = `${path}.lock`;
  closeSync(openSync(file, 'a', 0o600));
  const db = new DatabaseSync(file, { timeout: askedMs });
  try {
    db.exec('BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return null;
    throw error;
  }
}

/** SQLite's code where another program writes, or has the database for itself. */
export const sqliteBusy = 5;

/** The id of the process that holds the lock; null: not known. */
export function holderOfLock(path: string): number | null {
  return holderOfFile(`${path}.lock`);
}

/** Which byte of the file beside it SQLite locks to write (sqlite.org/walformat.html, 2.3.1). */
const writeLockByte = 120;

/** The id of another process that is writing the database; null: not known. */
export function writerOf(path: string): number | null {
  return lockerOfByte(`${path}-shm`, writeLockByte);
}
