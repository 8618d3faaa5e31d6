/** Pauses between attempts: exponential back-off, spread, and `Retry-After`. */

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

/** A random pause around `ms`: `share` 0.2 is ±20 %. */
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

/**
 * Reads the pause of a `Retry-After` header. Format: RFC 9110, 10.2.3: seconds, or a date.
 * @param now milliseconds since 1970
 * @returns milliseconds, at most `mostMs`; null: there is no header, or an unreadable one
 */
export function retryAfterMs(
  header: string | string[] | undefined,
  now: number,
  mostMs: number,
): number | null {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined || text === '') return null;
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? null : Math.min(mostMs, Math.max(0, ms));
}
