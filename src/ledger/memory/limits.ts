/** What the form without storage promises, and its bounds. */
import type { Durability } from '../ledger.ts';

export type MemoryLimits = {
  /** Messages accepted and not settled. */
  readonly messagesMax: number;
  /** The same in bytes, their replies included. */
  readonly bytesMax: number;
  readonly dedupeKeysMax: number;
};

export const memoryLimits: MemoryLimits = {
  messagesMax: 10_000,
  bytesMax: 64 * 1024 * 1024,
  dedupeKeysMax: 100_000,
};

export const memoryDurability: Durability = {
  durable: false,
  deliveryGapsMs: [5_000, 45_000],
  hotGaps: 2,
  jitter: 0,
  drainMs: 30_000,
  drainsBacklog: true,
};
