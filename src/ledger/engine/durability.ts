/** The promises of every backend that keeps what it accepts. */
import { hourMs, minuteMs } from '../../lib/durations.ts';
import type { OutState } from './queue.ts';
import { retryAfterMsMax, type Durability } from '../ledger.ts';

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

/** A planned attempt. `aheadMs`: how much further away it was than its schedule allows. */
export type Planned = { readonly dueAt: number | null; readonly aheadMs: number };

/**
 * When to try a stored reply again. A clock that was ahead may have planned it too late. Then the
 * time becomes the latest that the schedule allows from now.
 * @param retryAfterMs the pause that the receiver asked for; null: none
 * @param now milliseconds since 1970
 */
export function plannedTry(
  { attempt, replayedAfter, dueAt }: Pick<OutState, 'attempt' | 'replayedAfter' | 'dueAt'>,
  retryAfterMs: number | null,
  now: number,
): Planned {
  const latest = now + pauseMsMax(attempt - replayedAfter - 1, retryAfterMs);
  if (dueAt === null || dueAt <= latest) return { dueAt, aheadMs: 0 };
  return { dueAt: latest, aheadMs: dueAt - latest };
}

/** The longest pause after that many attempts of the schedule, in whole milliseconds. */
function pauseMsMax(tries: number, retryAfterMs: number | null): number {
  const askedMs = Math.min(retryAfterMs ?? 0, retryAfterMsMax);
  return Math.ceil(Math.max(longestGapsMs[tries - 1] ?? 0, askedMs, pacedMsMin));
}

/** The shortest pause of a reply that its platform rate-limits. */
export const pacedMsMin = 1_000;

/** The gaps of the schedule with the largest jitter. */
export const longestGapsMs: readonly number[] = keptDurability.deliveryGapsMs.map(
  (gapMs) => gapMs * (1 + keptDurability.jitter),
);

/** Traces are dropped when this many writes are pending. */
export const tracesPendingMax = 5_000;

/**
 * How long a sender waits before it retries while the storage accepts nothing. That passes by
 * itself, like a full inbox.
 */
export const storageRetryMs = 5_000;
