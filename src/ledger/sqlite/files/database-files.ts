/** The files of a database: their rights, the owner's lock, and the notes about an unclean end. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readSync,
  statfsSync,
  writeSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolderSync } from '../../../lib/make-folder.ts';
import { holderOfFile, lockerOfByte } from '../../../lib/holders.ts';

/**
 * How long to wait for the lock: a process that asks whether there is an owner holds the lock's
 * file for a moment.
 */
const askedMs = 200;

/**
 * Creates the folder (for this user alone) if it is missing, and the file. An existing folder keeps
 * its rights.
 * @throws the system's error when that is not allowed
 */
export function prepareFiles(path: string): void {
  const folder = dirname(path);
  makeFolderSync(folder, 0o700);
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

/** The bytes that this user may still write on the file's disk. */
export function freeBytesAt(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/**
 * Writes the bytes of the log that an unclean stop left once more, in place, and syncs them.
 *
 * After a failed sync the system may treat unwritten pages as safe, and no later sync writes them
 * again. A power cut would then lose them, and the messages accepted after them. Only the owner
 * calls this, before it writes to the database or reads from it.
 *
 * Another program may write to the same log, as a replicator does. So the log is locked meanwhile:
 * otherwise old bytes could come over newer ones.
 * @param db a connection to that database
 * @throws the system's error, or SQLite's
 */
export function rewriteLog(db: DatabaseSync, path: string): void {
  const log = `${path}-wal`;
  if (!existsSync(log)) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // SQLite removes the log of an empty database.
    if (existsSync(log)) rewrite(log);
  } finally {
    db.exec('ROLLBACK');
  }
}

function rewrite(log: string): void {
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
 * Takes the lock: an exclusive transaction on a second SQLite file. The system frees it however the
 * process ends, while a file with a process id would outlive a kill.
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

/** SQLite's code when another program writes, or has the database for itself. */
export const sqliteBusy = 5;

/** The id of the process that holds the lock; null: unknown. */
export function holderOfLock(path: string): number | null {
  return holderOfFile(`${path}.lock`);
}

/** The byte of the `-shm` file that SQLite locks to write (sqlite.org/walformat.html, 2.3.1). */
const writeLockByte = 120;

/** The id of another process that is writing the database; null: unknown. */
export function writerOf(path: string): number | null {
  return lockerOfByte(`${path}-shm`, writeLockByte);
}

/**
 * Notes about the end of a process, in small files beside the database. A process that does not
 * stop in order leaves them for the next start, which reads and deletes them. Without a note, or
 * with a torn one, the next start assumes an ordinary crash.
 */
export type NotedEnd = {
  /** The storage failed, so no message caused that end. */
  readonly failed: NotedFailure | null;
  /** An uncaught exception ended the process. */
  readonly crashed: NotedCrash | null;
};

export type NotedFailure = {
  /** The number of the message that ran alone at that moment; null: none did. */
  readonly alone: number | null;
};

type NotedCrash = {
  /**
   * The last sequence number given. If the database has a higher one, the note is of an earlier
   * end.
   */
  readonly lastSeq: number;
  /** The ids of the messages in work: only they can have thrown. */
  readonly atWork: readonly string[];
};

export function noteFailure(path: string, { alone }: NotedFailure): void {
  note(`${path}.failed`, JSON.stringify(alone));
}

export function noteCrash(path: string, crash: NotedCrash): void {
  note(`${path}.crashed`, JSON.stringify(crash) + endMark);
}

export function notedEnd(path: string): NotedEnd {
  return { failed: notedFailure(`${path}.failed`), crashed: notedCrash(`${path}.crashed`) };
}

export function forgetNotedEnd(path: string): void {
  for (const kind of ['failed', 'crashed']) {
    try {
      rmSync(`${path}.${kind}`, { force: true });
    } catch {
      // Not a note of svc: the start goes on.
    }
  }
}

/** The last line. A file without it was not written to its end. */
const endMark = '\nend\n';

function notedFailure(file: string): NotedFailure | null {
  const text = textOf(file);
  if (text === null) return null;
  const alone = Number.parseInt(text, 10);
  return { alone: Number.isNaN(alone) ? null : alone };
}

function notedCrash(file: string): NotedCrash | null {
  const text = textOf(file);
  if (text?.endsWith(endMark) !== true) return null;
  try {
    const { lastSeq, atWork } = JSON.parse(text.slice(0, -endMark.length)) as Partial<NotedCrash>;
    return Number.isInteger(lastSeq) && Array.isArray(atWork)
      ? { lastSeq: lastSeq!, atWork: atWork.map(String) }
      : null;
  } catch {
    return null;
  }
}

/** @returns null when there is no such file, or this user may not read it */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/**
 * Writes a note. Ignores failures: the disk may be full, and everything has been reported already.
 */
function note(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600 });
  } catch {
    // Then the end counts as an ordinary crash.
  }
}
