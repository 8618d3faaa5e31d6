/**
 * Turns for what may be left out: each takes of an allowance what nobody else needs, in the order
 * of asking. So the more ask, the more time is between two turns of one of them. The first sight of
 * a reply goes before everything else that asks.
 */
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';

type Waiting = { readonly serve: () => void };

export class LowPriorityQueue {
  readonly #deadlines: Deadlines;
  readonly #msUntilOne: (isFirst: boolean) => number;
  readonly #firsts: Waiting[] = [];
  readonly #others: Waiting[] = [];
  #next: Deadline | null = null;

  /** @param msUntilFree until there is one for the first who waits of that kind; 0: now */
  constructor(deadlines: Deadlines, msUntilFree: (isFirst: boolean) => number) {
    this.#deadlines = deadlines;
    this.#msUntilOne = msUntilFree;
  }

  /**
   * @param take takes it at once, unless it cannot be taken any more
   * @param isFirst whether it is the first sight of a reply
   * @returns whether it was taken; false as well: stopped before
   */
  next(take: () => boolean, signal: AbortSignal, isFirst = false): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const queue = isFirst ? this.#firsts : this.#others;
      const stopped = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        resolve(false);
      };
      const waiting: Waiting = {
        serve: () => {
          signal.removeEventListener('abort', stopped);
          resolve(take());
        },
      };
      queue.push(waiting);
      signal.addEventListener('abort', stopped, { once: true });
      // The time that is waited for is that of the others.
      if (isFirst) this.#next?.cancel();
      if (isFirst || this.#next === null) this.#serve();
    });
  }

  readonly #serve = (): void => {
    this.#next = null;
    for (;;) {
      const isFirst = this.#firsts.length > 0;
      const queue = isFirst ? this.#firsts : this.#others;
      if (queue.length === 0) return;
      const ms = this.#msUntilOne(isFirst);
      if (ms > 0) {
        this.#next = this.#deadlines.after(ms, this.#serve);
        return;
      }
      queue.shift()!.serve();
    }
  };
}

// How much a platform takes in a time. An allowance is one number: when it is full again (the
// generic cell rate algorithm). Each one that is sent puts that off by `everyMs`. A window counts.

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

/** Until when each kind of what may be left out is not asked of a platform that wants a pause. */
export class Holds<Kind extends string> {
  readonly #steady: () => SteadyTime;
  readonly #until = new Map<Kind, SteadyTime>();

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  hold(kind: Kind, ms: number): void {
    const until = later(this.#steady(), ms);
    if (until > (this.#until.get(kind) ?? 0)) this.#until.set(kind, until);
  }

  holds(kind: Kind): boolean {
    return this.msOf(kind) > 0;
  }

  /** How much longer; 0: it is not held. */
  msOf(kind: Kind): number {
    const until = this.#until.get(kind);
    return until === undefined ? 0 : Math.max(0, until - this.#steady());
  }
}
