/** From a path to a ledger that has recovered what was unsettled, or to why it cannot be had. */
import { DatabaseSync } from 'node:sqlite';
import type { IdSource } from '../../domain/ids.ts';
import type { Ledger } from '../store.ts';
import { WorkingSet } from '../working-set.ts';
import { DurableLedger } from './durable-ledger.ts';
import { Journal, startWriter } from './journal.ts';
import { freeBytesAt, preparePlace, rewriteLog, takeOwnerLock } from './place.ts';
import type { OwnerLock } from './place.ts';
import { lockedProblem, problemOf, type StoreProblem } from './problem.ts';
import { lastId, recover } from './recovery.ts';
import { sqliteLimits, type SqliteLimits } from './terms.ts';

export type { StoreProblem } from './problem.ts';

export type SqliteOptions = {
  /** Absolute. */
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly ids: IdSource;
  readonly retentionDays: number;
  /** Told once when the storage has failed for good; everything after is refused. */
  readonly onFault?: (error: unknown) => void;
  readonly limits?: Partial<SqliteLimits>;
};

/** Opens or makes the database, takes its lock, and recovers what was unsettled. */
export async function openSqliteLedger(options: SqliteOptions): Promise<Ledger | StoreProblem> {
  const { path, retentionDays, now } = options;
  let lock: OwnerLock | null = null;
  try {
    preparePlace(path);
    lock = takeOwnerLock(path);
    if (lock === null) return lockedProblem(path);
    rewriteLog(path);
    const writer = await startWriter({ path, retentionDays });
    if ('errcode' in writer) {
      lock.release();
      return problemOf(path, writer);
    }
    const reader = new DatabaseSync(path, { readOnly: true });
    const rows = new WorkingSet(now);
    const journal = new Journal(writer, freeBytesAt(path));
    const limits = { ...sqliteLimits, ...options.limits };
    options.ids.startAfter(lastId(reader));
    const writes = recover(reader, rows, now());
    await journal.write([...writes, ['owned']]);
    return new DurableLedger({ ...options, limits, lock, reader, rows, journal });
  } catch (error) {
    lock?.release();
    return problemOf(path, error as Error);
  }
}
