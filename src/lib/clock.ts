/**
 * Two clocks. One tells the time of day, for what is stored or shown; a person or a time server may
 * set it back or forward at any moment. The other only goes forward, evenly: it measures what lasts
 * (deadlines, pauses, rates).
 */

declare const steady: unique symbol;

/**
 * Milliseconds by the steady clock, from no particular start: it means something only beside
 * another time of the same process and thread, and is never stored.
 */
export type SteadyTime = number & { readonly [steady]: true };

export type Clock = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly steady: () => SteadyTime;
};

/** In whole milliseconds. While the machine is suspended it stands still on Linux and macOS. */
export const steadyNow = (): SteadyTime => Math.floor(performance.now()) as SteadyTime;

/** This machine's. */
export const systemClock: Clock = { now: Date.now, steady: steadyNow };

/** @param ms how long after; a negative number is before */
export function later(time: SteadyTime, ms: number): SteadyTime {
  return (time + ms) as SteadyTime;
}

export function earlier(one: SteadyTime, other: SteadyTime): SteadyTime {
  return one < other ? one : other;
}

/**
 * How long ago a time was that is known by the time of day alone, because it was stored or comes
 * from elsewhere.
 * @param at milliseconds since 1970
 * @returns milliseconds; 0 where the clock has been set back since
 */
export function msSince(at: number, { now }: Pick<Clock, 'now'>): number {
  return Math.max(0, now() - at);
}
