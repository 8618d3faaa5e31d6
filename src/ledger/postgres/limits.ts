/** The bounds of this form. */
import type { CrashIsolationLimits } from '../engine/order/crash-isolation.ts';

export type PostgresLimits = CrashIsolationLimits & {
  /** Messages accepted and not settled. */
  readonly messagesMax: number;
  /** The bytes that they and their replies hold in memory. */
  readonly bytesMax: number;
  /** Messages that one instance has in hand; the rest waits for whoever has room. */
  readonly heldMax: number;
  /** For what is left to write when the storage closes. */
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
