/** What every form promises that keeps what it accepts. */
import { hourMs, minuteMs } from '../../lib/durations.ts';
import type { OutState } from './order/rows.ts';
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

/** A time that lay too far ahead. `aheadMs`: how much further than its schedule allows. */
export type Planned = { readonly dueAt: number | null; readonly aheadMs: number };

/**
 * When a stored reply is tried again. The clock may have been ahead when that was planned, and be
 * right again: then the time is as far from now as the schedule allows at most.
 * @param retryAfterMs the pause that the receiver asked for; null: it asked for none
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

/** The longest pause after that many tries of the schedule, in whole milliseconds. */
function pauseMsMax(tries: number, retryAfterMs: number | null): number {
  const asked = Math.min(retryAfterMs ?? 0, retryAfterMsMax);
  return Math.ceil(Math.max(longestGapsMs[tries - 1] ?? 0, asked, pacedMsMin));
}

/** A reply that its platform limits waits so long at least. */
export const pacedMsMin = 1_000;

/** The gaps of the schedule, as long as chance makes them. */
export const longestGapsMs: readonly number[] = keptDurability.deliveryGapsMs.map(
  (gapMs) => gapMs * (1 + keptDurability.jitter),
);

/** When so many writes are pending, traces are left out. */
export const tracesPendingMax = 5_000;

/** To the sender a storage that takes nothing is like any full inbox: it passes by itself. */
export const storageRetryMs = 5_000;
