/**
 * Opens the SQLite ledger at a path: it recovers unsettled rows, or returns why the database cannot
 * be used.
 */
import { DatabaseSync } from 'node:sqlite';
import type { IdSource } from '../../domain/ids.ts';
import { onUncaughtException } from '../../lib/supervise.ts';
import { QueueLedger } from '../engine/engine.ts';
import { WorkingSet, type MergeClock } from '../engine/working-set.ts';
import { reportSooner } from '../engine/crash-isolation.ts';
import type { Ledger, LedgerNews, StoreProblem } from '../ledger.ts';
import { GroupCommit } from './write/group-commit.ts';
import {
  freeBytesAt,
  prepareFiles,
  takeOwnerLock,
  forgetNotedEnd,
  notedEnd,
  noteCrash,
  noteFailure,
  type OwnerLock,
  type NotedFailure,
} from './files/database-files.ts';
import { lockedProblem, problemOf } from './files/problem.ts';
import { findHeld } from './ledger/takeover.ts';
import { lastId, recover } from './ledger/recovery.ts';
import { decideOnce, openLabels, type PublicNow } from './ledger/sensitivity-labels.ts';
import { SqliteStorage } from './sqlite-storage.ts';
import type { Write } from './write/statements.ts';
import { startWriter, type StartWriter, type Writer } from './write/start-writer.ts';
import { sqliteLimits, type SqliteLimits } from './ledger/limits.ts';

export type SqliteOptions = MergeClock & {
  /** The database file, absolute. */
  readonly path: string;
  readonly ids: IdSource;
  readonly retentionDays: number;
  /**
   * Labels rows from before there were sensitivity labels. Default: leave them unlabelled for now.
   */
  readonly publicNow?: PublicNow | null;
  /** Called once when the storage has failed for good. The ledger then refuses every request. */
  readonly onFault?: (error: unknown) => void;
  readonly news?: LedgerNews;
  readonly limits?: Partial<SqliteLimits>;
  /** Starts the writer. Default: a thread of its own. */
  readonly startWriter?: StartWriter | undefined;
};

/** Opens or creates the database, takes its lock, and recovers unsettled rows. */
export async function openSqliteLedger(options: SqliteOptions): Promise<Ledger | StoreProblem> {
  const { path, retentionDays, now, steady } = options;
  let lock: OwnerLock | null = null;
  let writer: Writer | null = null;
  let groupCommit: GroupCommit | null = null;
  let reader: DatabaseSync | null = null;
  try {
    prepareFiles(path);
    lock = takeOwnerLock(path);
    if (lock === null) return lockedProblem(path);
    const limits = { ...sqliteLimits, ...options.limits };
    const start = options.startWriter ?? startWriter;
    const { pagesMax, busyMs, lockedMs } = limits;
    const data = { path, retentionDays, pagesMax, busyMs, lockedMs };
    const started = await start(data, (upgrade) => options.news?.storageUpgrading?.(upgrade));
    if ('errcode' in started) {
      lock.release();
      return problemOf(path, started);
    }
    writer = started;
    groupCommit = new GroupCommit(writer, freeBytesAt(path), limits);
    reader = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
    const rows = new WorkingSet(options);
    options.ids.startAfter(lastId(reader));
    const publicNow = decideOnce(path, options.publicNow ?? null);
    const { labels, writes: labelWrites } = openLabels(reader, publicNow);
    const held = findHeld(reader, rows, now());
    const { writes, suspects, sooner } = recover(reader, rows, now(), notedEnd(path));
    const startWrites: readonly Write[] = [
      ...labelWrites,
      ...writes,
      ['holdsOver', now()],
      ['owned'],
    ];
    await groupCommit.write(startWrites, lockedMs);
    forgetNotedEnd(path);
    reportSooner(sooner, options.news);
    const noteEnd = (failed: NotedFailure): void => noteFailure(path, failed);
    const openGroupCommit = groupCommit;
    const stopCrashNotes = onUncaughtException(() => {
      const { lastSeq, atWork } = rows;
      // On a disk that does not answer, this write would keep the process from ending.
      if (!openGroupCommit.silent) noteCrash(path, { lastSeq, atWork });
    });
    const { news = {} } = options;
    const base = { now, steady, limits, lock, reader, rows, groupCommit, suspects, held, labels };
    const deps = { ...base, noteFailure: noteEnd, stopCrashNotes, news };
    return new QueueLedger({ ...options, rows, storage: new SqliteStorage(deps), news });
  } catch (error) {
    await (groupCommit === null ? writer?.terminate() : groupCommit.abandon());
    reader?.close();
    lock?.release();
    return problemOf(path, error as Error);
  }
}
