/** What every form promises that keeps what it accepts. */
import type { Durability } from '../store.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const keptDurability: Durability = {
  durable: true,
  deliveryGapsMs: [
    1_000,
    5_000,
    20_000,
    60_000,
    5 * minuteMs,
    30 * minuteMs,
    ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
  ],
  hotGaps: 4,
  jitter: 0.2,
  drainMs: 5_000,
  drainsBacklog: false,
};

/** When so many writes are pending, traces are left out. */
export const tracesPendingMax = 5_000;

/** To the sender a storage that takes nothing is like any full inbox: it passes by itself. */
export const storageRetryMs = 5_000;
