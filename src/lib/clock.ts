/**
 * Two clocks. One tells the time of day, for what is stored or shown; a person or a time server may
 * set it back or forward at any moment. The other only goes forward, evenly: it measures what lasts
 * (deadlines, pauses, rates). Processes that share what they store tell one time of day, which is
 * that of a clock elsewhere: each reads it now and then, and goes on from there.
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

/** What a clock elsewhere showed at some moment between the next two. */
export type ClockReading = {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly askedAt: SteadyTime;
  readonly answeredAt: SteadyTime;
};

/** This machine's time of day until another clock is read; from then on that one's. */
export class FollowingClock implements Clock {
  readonly #own: Clock;
  /** Of the steady clock; null: none was read. */
  #aheadMs: number | null = null;

  constructor(own: Clock = systemClock) {
    this.#own = own;
  }

  readonly steady = (): SteadyTime => this.#own.steady();

  readonly now = (): number =>
    this.#aheadMs === null ? this.#own.now() : Math.floor(this.#own.steady() + this.#aheadMs);

  /**
   * It is moved by no more than this reading calls for: what took long to come says little.
   * @returns how far the other one is ahead of this machine's, at least; negative: behind
   */
  follow({ now, askedAt, answeredAt }: ClockReading): number {
    const most = now - askedAt;
    // The steady clock tells whole milliseconds.
    const least = now - answeredAt - 1;
    const was = this.#aheadMs ?? (least + most) / 2;
    this.#aheadMs = Math.max(least, Math.min(most, was));
    const ownAhead = this.#own.now() - this.#own.steady();
    return Math.max(0, least - ownAhead) + Math.min(0, most - ownAhead);
  }
}

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
