/** What this form promises, and its bounds. */
import type { CrashIsolationLimits } from '../../engine/order/crash-isolation.ts';

/** A disk may take its time; one that does not answer keeps no process from ending. */
export type ClosingLimits = {
  /** For what is left to write, the log to be folded, and the database to be closed. */
  readonly closeMs: number;
  /** For the writer's thread, once it is told to end. */
  readonly endMs: number;
};

type WaitingLimits = CrashIsolationLimits & ClosingLimits;

export type SqliteLimits = WaitingLimits & {
  /** Messages accepted and not settled. */
  readonly messagesMax: number;
  /** The bytes that they and their replies hold in memory. */
  readonly bytesMax: number;
  /** With less than this free on the disk nothing more is accepted. */
  readonly freeBytesMin: number;
  /** The database grows to so many pages (of 4 KiB); null: as far as there is room. */
  readonly pagesMax: number | null;
  /**
   * How long another program that reads the database is waited for: after a crash the first one to
   * open it holds it alone until it has read the log.
   */
  readonly busyMs: number;
  /** How long a start waits for another program that writes the database. */
  readonly lockedMs: number;
};

export const sqliteLimits: SqliteLimits = {
  messagesMax: 1_000_000,
  bytesMax: 1024 * 1024 * 1024,
  freeBytesMin: 256 * 1024 * 1024,
  pagesMax: null,
  busyMs: 2_000,
  lockedMs: 10_000,
  closeMs: 10_000,
  endMs: 1_000,
  aloneMs: 30_000,
  besideMs: 3_000,
  stallMs: 120_000,
};
