/**
 * Exponential back-off with full jitter: a random pause between 0 and base × 2ⁿ, capped.
 * @param attempt counts from 0
 * @param random a number in [0, 1)
 * @returns milliseconds
 */
export function fullJitter(
  attempt: number,
  limits: { readonly baseMs: number; readonly capMs: number },
  random: () => number = Math.random,
): number {
  return random() * Math.min(limits.capMs, limits.baseMs * 2 ** attempt);
}

/** A pause of `ms`, give or take `share` of it (0.2 is ±20 %). */
export function spread(ms: number, share: number, random: () => number = Math.random): number {
  return ms * (1 - share + 2 * share * random());
}

/** Waits, or returns early when the signal aborts. Never throws. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
