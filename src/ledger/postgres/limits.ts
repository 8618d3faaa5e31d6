/** The limits of the PostgreSQL backend. */
import type { CrashIsolationLimits } from '../engine/crash-isolation.ts';

export type PostgresLimits = CrashIsolationLimits & {
  /** The most accepted messages that are not settled. */
  readonly messagesMax: number;
  /** The most bytes of these messages and their replies in memory. */
  readonly bytesMax: number;
  /** The most messages that one instance works; others wait for an instance with room. */
  readonly heldMax: number;
  /** How long the storage may write when it closes. */
  readonly closeMs: number;
};

export const postgresLimits: PostgresLimits = {
  messagesMax: 1_000_000,
  bytesMax: 1024 * 1024 * 1024,
  heldMax: 20_000,
  closeMs: 10_000,
  aloneMs: 30_000,
  besideMs: 3_000,
  stallMs: 120_000,
};
