/**
 * How much a platform takes in a time. An allowance is one number: when it is full again (the
 * generic cell rate algorithm). Each one that is sent puts that off by `everyMs`. A window counts.
 */
import { later, type SteadyTime } from '../../lib/clock.ts';

/** One each `everyMs`, and `burst` at once after a rest. */
export type RateLimit = { readonly everyMs: number; readonly burst: number };

/**
 * @param full when it is full again; undefined: it is
 * @param spare how many are to be left over
 * @returns milliseconds until one may be sent; 0: now
 */
export function msUntilOne(
  full: SteadyTime | undefined,
  { everyMs, burst }: RateLimit,
  now: SteadyTime,
  spare = 0,
): number {
  if (full === undefined) return 0;
  return Math.max(0, full - now - everyMs * (burst - 1 - spare));
}

/** When it is full again once one more is sent. */
export function fullAfterOne(
  full: SteadyTime | undefined,
  { everyMs }: RateLimit,
  now: SteadyTime,
): SteadyTime {
  return later(full === undefined || full < now ? now : full, everyMs);
}

/** So many in any stretch of a time, however close together. */
export class Window {
  readonly #ms: number;
  /** When each of the last ones was sent, as a ring. */
  readonly #times: number[];
  #next = 0;

  constructor(most: number, ms: number) {
    this.#ms = ms;
    this.#times = Array.from({ length: most }, () => -Infinity);
  }

  /**
   * @param spare how many are to be left over, fewer than there are
   * @returns milliseconds until one may be sent; 0: now
   */
  msUntilOne(now: SteadyTime, spare = 0): number {
    const oldest = this.#times[(this.#next + spare) % this.#times.length]!;
    return Math.max(0, oldest + this.#ms - now);
  }

  /** How many were sent in the last stretch. */
  count(now: SteadyTime): number {
    return this.#times.filter((at) => at + this.#ms > now).length;
  }

  take(now: SteadyTime): void {
    this.#times[this.#next] = now;
    this.#next = (this.#next + 1) % this.#times.length;
  }
}
