/**
 * Two clocks. The wall clock tells the time of day, for stored and shown times; a person or a time
 * server may set it back or forward at any moment. The steady clock only goes forward, evenly: it
 * measures durations (deadlines, pauses, rates). Processes that share a storage use one time of
 * day, that of another machine's clock. Each process reads that clock now and then, and continues
 * from there.
 */

declare const steady: unique symbol;

/**
 * Milliseconds of the steady clock, from an arbitrary start. It has a meaning only relative to
 * another time of the same process and thread, and is never stored.
 */
export type SteadyTime = number & { readonly [steady]: true };

export type Clock = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly steady: () => SteadyTime;
};

/** In whole milliseconds. It stands still on Linux and macOS while the machine is suspended. */
export const steadyNow = (): SteadyTime => Math.floor(performance.now()) as SteadyTime;

/** This machine's clock. */
export const systemClock: Clock = { now: Date.now, steady: steadyNow };

/** The time that another clock showed at some moment between `askedAt` and `answeredAt`. */
export type ClockReading = {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly askedAt: SteadyTime;
  readonly answeredAt: SteadyTime;
};

/**
 * Shows this machine's time of day until it reads another clock; from then on, that clock's time.
 */
export class FollowingClock implements Clock {
  readonly #own: Clock;
  /** How far the time of day is ahead of the steady clock; null: no other clock was read yet. */
  #aheadMs: number | null = null;

  constructor(own: Clock = systemClock) {
    this.#own = own;
  }

  readonly steady = (): SteadyTime => this.#own.steady();

  readonly now = (): number =>
    this.#aheadMs === null ? this.#own.now() : Math.floor(this.#own.steady() + this.#aheadMs);

  /**
   * Follows a reading of the other clock. It moves no further than the reading requires, since a
   * slow reading is inexact.
   * @returns how far the other clock is ahead of this machine's, at least; negative: behind
   */
  follow({ now, askedAt, answeredAt }: ClockReading): number {
    const most = now - askedAt;
    // The steady clock shows whole milliseconds.
    const least = now - answeredAt - 1;
    const was = this.#aheadMs ?? (least + most) / 2;
    this.#aheadMs = Math.max(least, Math.min(most, was));
    const ownAhead = this.#own.now() - this.#own.steady();
    return Math.max(0, least - ownAhead) + Math.min(0, most - ownAhead);
  }
}

/** @param ms the distance; a negative number means earlier */
export function later(time: SteadyTime, ms: number): SteadyTime {
  return (time + ms) as SteadyTime;
}

export function earlier(one: SteadyTime, other: SteadyTime): SteadyTime {
  return one < other ? one : other;
}

/**
 * The age of a time that is known only by the time of day, since it was stored or comes from
 * another machine.
 * @param at milliseconds since 1970
 * @returns milliseconds; 0 if the clock has been set back since then
 */
export function msSince(at: number, { now }: Pick<Clock, 'now'>): number {
  return Math.max(0, now() - at);
}
