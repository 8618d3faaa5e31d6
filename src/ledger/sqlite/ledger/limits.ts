/** The limits of the SQLite backend. */
import type { CrashIsolationLimits } from '../../engine/crash-isolation.ts';

/**
 * How long closing waits for a slow disk. A disk that never answers must not keep the process from
 * ending.
 */
export type ClosingLimits = {
  /** For the remaining writes, for folding the log, and for closing the database. */
  readonly closeMs: number;
  /** For the writer's thread to end, once it is told to. */
  readonly endMs: number;
};

type WaitingLimits = CrashIsolationLimits & ClosingLimits;

export type SqliteLimits = WaitingLimits & {
  /** The most messages accepted and not settled. */
  readonly messagesMax: number;
  /** The most bytes that these messages and their replies hold in memory. */
  readonly bytesMax: number;
  /** With less free space than this on the disk, the ledger accepts nothing more. */
  readonly freeBytesMin: number;
  /** The most pages (of 4 KiB) of the database; null: no limit but the disk. */
  readonly pagesMax: number | null;
  /**
   * How long to wait for another program that reads the database. After a crash, the first program
   * to open it holds it alone until it has read the log.
   */
  readonly busyMs: number;
  /** How long a deletion waits for other programs that read from the log. */
  readonly readersMs: number;
  /** How long a start waits for another program that writes the database. */
  readonly lockedMs: number;
};

export const sqliteLimits: SqliteLimits = {
  messagesMax: 1_000_000,
  bytesMax: 1024 * 1024 * 1024,
  freeBytesMin: 256 * 1024 * 1024,
  pagesMax: null,
  busyMs: 2_000,
  readersMs: 5_000,
  lockedMs: 10_000,
  closeMs: 10_000,
  endMs: 1_000,
  aloneMs: 30_000,
  besideMs: 3_000,
  stallMs: 120_000,
};
