import type { Failure } from '../../domain/failure.ts';
import { fullJitter } from '../../lib/backoff.ts';

const pauses = { baseMs: 200, capMs: 2_000 };
const retryAfterMostMs = 30_000;

/**
 * When to ask a model again after a failure: with full jitter between 0 and 200 ms × 2ⁿ (at most
 * 2 s), or after what the provider asked for, at most 30 s.
 * @param attempt how many times it was asked again before, from 0
 * @param random a number in [0, 1)
 * @returns milliseconds to wait; null: do not ask again
 */
export function retryDelayMs(
  failure: Failure,
  attempt: number,
  { retriesMax = 2, random = Math.random }: { retriesMax?: number; random?: () => number } = {},
): number | null {
  if (!failure.retryable || attempt >= retriesMax) return null;
  if (failure.retryAfterMs !== null) return Math.min(retryAfterMostMs, failure.retryAfterMs);
  return fullJitter(attempt, pauses, random);
}
