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
  readFileSync,
  rmSync,
  writeFileSync,
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

/**
 * Small files beside the database, by which a process that does not end by a stop tells the next
 * start why. The next start reads and deletes them. Without a file, or with a torn one, the next
 * start takes the end for a crash like any other.
 */
export type NotedEnd = {
  /** The storage failed: no message is to blame for that end. */
  readonly failed: NotedFailure | null;
  /** An exception that nobody caught ended the process. */
  readonly crashed: NotedCrash | null;
};

export type NotedFailure = {
  /** The number of the message that ran alone just then; null: none did. */
  readonly alone: number | null;
};

type NotedCrash = {
  /** The last number given. Where the database has a higher one, the note is of an earlier end. */
  readonly lastSeq: number;
  /** The ids of the messages that were being answered: only they can have thrown. */
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
      // It is no note of ours, and stops no start.
    }
  }
}

/** Behind all else: a file without it was not written to its end. */
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

/** Null: there is none, or none that this user may read. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** The disk may be full, and there is nobody to tell beyond what has been told. */
function note(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600 });
  } catch {
    // Then the end counts as any crash.
  }
}
