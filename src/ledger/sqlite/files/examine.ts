/** Examines a database without changing it and without holding up its owner. */
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { applicationId, migrationFiles } from './migrations.ts';
import { freeBytesAt, holderOfLock, sqliteBusy } from './database-files.ts';
import type { StoreProblem } from '../../ledger.ts';
import { problemOf } from './problem.ts';
import { sqliteLimits } from '../ledger/limits.ts';

export type DiskRoom = {
  readonly freeBytes: number;
  /** With less free space than this, the service accepts nothing more. */
  readonly freeBytesMin: number;
};

export type Examined = DiskRoom & {
  readonly kind: 'examined';
  /** Whether a process owns the database now. */
  readonly owned: boolean;
  /** The id of that process; null: there is none, or this system does not report it. */
  readonly ownerPid: number | null;
  /** Whether the last process ended without closing the database. */
  readonly unclean: boolean;
  /** The fault that SQLite's quick_check found; null: none. */
  readonly damage: string | null;
  /** How many migrations the file's schema is behind this program's. */
  readonly stepsBehind: number;
  /** When the newest message was accepted, milliseconds since 1970; null: there is none. */
  readonly newestAt: number | null;
  readonly bytes: number;
  /**
   * Files, and the folder, that others than their owner may use. Empty on Windows, which has no
   * such bits.
   */
  readonly openFiles: readonly string[];
};

/** @param path absolute; the file must exist */
export function examine(path: string): Examined | StoreProblem {
  try {
    const owned = isOwned(path);
    using db = new DatabaseSync(path, { readOnly: true, timeout: sqliteLimits.busyMs });
    const numberOf = (pragma: string): number => Number(firstValue(db, `PRAGMA ${pragma}`));
    const tables = Number(firstValue(db, 'SELECT count(*) FROM sqlite_master'));
    if (tables > 0 && numberOf('application_id') !== applicationId) {
      return problemOf(path, { message: 'ForeignDatabase' });
    }
    const version = numberOf('user_version');
    const known = migrationFiles().length;
    if (version > known) return problemOf(path, { message: 'NewerSchema' });
    const sound = String(firstValue(db, 'PRAGMA quick_check(1)'));
    const newest = tables === 0 ? null : firstValue(db, newestMessage);
    const unclean = tables > 0 && !owned && firstValue(db, 'SELECT clean FROM owner') === 0;
    return {
      kind: 'examined',
      owned,
      ownerPid: owned ? holderOfLock(path) : null,
      unclean,
      damage: sound === 'ok' ? null : sound,
      stepsBehind: known - version,
      newestAt: newest === null ? null : Number(newest),
      bytes: sizeOf(path) + sizeOf(`${path}-wal`),
      ...roomOfDisk(path),
      openFiles: openFiles(path),
    };
  } catch (error) {
    return problemOf(path, error as Error);
  }
}

/** @param place a file or folder on that disk */
export function roomOfDisk(place: string): DiskRoom {
  return { freeBytes: freeBytesAt(place), freeBytesMin: sqliteLimits.freeBytesMin };
}

const newestMessage = 'SELECT accepted_at FROM inbox ORDER BY seq DESC LIMIT 1';

function firstValue(db: DatabaseSync, sql: string): unknown {
  return Object.values(db.prepare(sql).get() ?? {})[0] ?? null;
}

/**
 * Whether a process owns the database. The owner's lock keeps readers out, so a read fails. The
 * read itself takes no lock from anyone.
 */
function isOwned(path: string): boolean {
  const file = `${path}.lock`;
  if (!existsSync(file)) return false;
  try {
    using db = new DatabaseSync(file, { readOnly: true, timeout: 0 });
    firstValue(db, 'SELECT count(*) FROM sqlite_master');
    return false;
  } catch (error) {
    if (((error as { errcode?: number }).errcode ?? 0) === sqliteBusy) return true;
    throw error;
  }
}

function openFiles(path: string): readonly string[] {
  if (process.platform === 'win32') return [];
  const files = [path, `${path}-wal`, `${path}-shm`, `${path}.lock`];
  const open = files.filter((file) => ((modeOf(file) ?? 0) & 0o077) !== 0);
  const folder = dirname(path);
  return ((modeOf(folder) ?? 0) & 0o022) === 0 ? open : [...open, folder];
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function modeOf(file: string): number | null {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? null : mode & 0o7777;
}
