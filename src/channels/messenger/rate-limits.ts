/**
 * A queue for calls that nobody needs, and the rate limits that it draws on. Each call takes room
 * that no reply needs, in the order of asking. So more callers mean a longer time between two turns
 * of one caller. The first preview of a reply goes before all others.
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

  /** @param msUntilFree milliseconds until the first waiting call of that kind may go; 0: now */
  constructor(deadlines: Deadlines, msUntilFree: (isFirst: boolean) => number) {
    this.#deadlines = deadlines;
    this.#msUntilOne = msUntilFree;
  }

  /**
   * @param take takes the room at once; false: there is none any more
   * @param isFirst whether this is the first preview of a reply
   * @returns whether the call may go; false also if the signal aborted first
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
      // The planned time is that of the others.
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

// How much a platform accepts in a time. A rate limit is one number: the time at which it is full
// again (the generic cell rate algorithm). Each message delays that time by `everyMs`. A window
// counts.

/** One message each `everyMs` milliseconds, and `burst` messages at once after a rest. */
export type RateLimit = { readonly everyMs: number; readonly burst: number };

/**
 * @param full when the limit is full again; undefined: it is full
 * @param spare how many messages must stay possible
 * @returns milliseconds until one may go; 0: now
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

/** When the limit is full again after one more message. */
export function fullAfterOne(
  full: SteadyTime | undefined,
  { everyMs }: RateLimit,
  now: SteadyTime,
): SteadyTime {
  return later(full === undefined || full < now ? now : full, everyMs);
}

/** Allows a number of messages in any period of a given length, however close together they are. */
export class Window {
  readonly #ms: number;
  /** A ring of the times of the last messages. */
  readonly #times: number[];
  #next = 0;

  constructor(most: number, ms: number) {
    this.#ms = ms;
    this.#times = Array.from({ length: most }, () => -Infinity);
  }

  /**
   * @param spare how many messages must stay possible; less than the size of the window
   * @returns milliseconds until one may go; 0: now
   */
  msUntilOne(now: SteadyTime, spare = 0): number {
    const oldest = this.#times[(this.#next + spare) % this.#times.length]!;
    return Math.max(0, oldest + this.#ms - now);
  }

  /** How many messages went out in the last period. */
  count(now: SteadyTime): number {
    return this.#times.filter((at) => at + this.#ms > now).length;
  }

  take(now: SteadyTime): void {
    this.#times[this.#next] = now;
    this.#next = (this.#next + 1) % this.#times.length;
  }
}

/** Back-off windows after a 429: until when svc makes no call of each kind. */
export class BackoffWindows<Kind extends string> {
  readonly #steady: () => SteadyTime;
  readonly #until = new Map<Kind, SteadyTime>();

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  start(kind: Kind, ms: number): void {
    const until = later(this.#steady(), ms);
    if (until > (this.#until.get(kind) ?? 0)) this.#until.set(kind, until);
  }

  isActive(kind: Kind): boolean {
    return this.remainingMs(kind) > 0;
  }

  /** How many milliseconds the window still lasts; 0: it is over. */
  remainingMs(kind: Kind): number {
    const until = this.#until.get(kind);
    return until === undefined ? 0 : Math.max(0, until - this.#steady());
  }
}
