/**
 * When the bot may send its next request. Discord takes 50 a second of a bot, and counts them in
 * windows that begin with what arrives. Sent evenly, and below that, no window has too many, also
 * where some arrive late.
 * Page: https://discord.com/developers/docs/topics/rate-limits#global-rate-limit.
 */
import { pause } from '../../lib/backoff.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import {
  fullAfterOne,
  msUntilOne,
  LowPriorityQueue,
  type RateLimit,
} from '../messenger/low-priority-queue.ts';

const ofBot: RateLimit = { everyMs: 30, burst: 8 };
/** Are left over for a reply, by first sights of replies, and by what else may be left out. */
const spares = { first: 1, other: 4 } as const;
/** Answers to interactions do not count. */
const uncounted = /\/v10\/(?:interactions|webhooks)\//;

export class BotPace {
  readonly #steady: () => SteadyTime;
  /** When the bot's allowance is full again. */
  #full: SteadyTime;

  readonly #spares: LowPriorityQueue;

  constructor(steady: () => SteadyTime, deadlines: Deadlines) {
    this.#steady = steady;
    this.#full = steady();
    this.#spares = new LowPriorityQueue(deadlines, (isFirst) => {
      const spare = isFirst ? spares.first : spares.other;
      return msUntilOne(this.#full, ofBot, steady(), spare);
    });
  }

  /**
   * Waits for a place, which is given out in the order of asking.
   * @param waitMsMax what it waits for at most
   * @returns null: it may be sent now, unless the signal was aborted meanwhile; else the
   *   milliseconds after which it may ask again
   */
  async admit(url: string, waitMsMax: number, signal?: AbortSignal | null): Promise<number | null> {
    if (uncounted.test(url)) return null;
    const now = this.#steady();
    const ms = msUntilOne(this.#full, ofBot, now);
    if (ms > waitMsMax) return ms;
    this.#full = fullAfterOne(this.#full, ofBot, now);
    if (ms > 0) await pause(ms, signal ?? new AbortController().signal);
    return null;
  }

  /**
   * Takes a place that nobody needs, and leaves some over.
   * @param isFirst whether it is for the first sight of a reply, which goes before the others
   * @returns false: stopped before
   */
  spare(signal: AbortSignal, isFirst = false): Promise<boolean> {
    const take = (): boolean => {
      this.#full = fullAfterOne(this.#full, ofBot, this.#steady());
      return true;
    };
    return this.#spares.next(take, signal, isFirst);
  }
}
