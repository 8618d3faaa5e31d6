/**
 * When the bot may send its next request. Discord takes 50 a second of a bot, in windows that begin
 * with the first request to arrive. svc sends evenly and below that limit, so no window has too
 * many, even if some requests arrive late. Page:
 * https://discord.com/developers/docs/topics/rate-limits#global-rate-limit.
 */
import { pause } from '../../lib/backoff.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import {
  fullAfterOne,
  msUntilOne,
  LowPriorityQueue,
  type RateLimit,
} from '../messenger/rate-limits.ts';

const botLimit: RateLimit = { everyMs: 30, burst: 8 };
/**
 * The places that stay free for replies: beside a first preview, and beside other best-effort
 * calls.
 */
const reserved = { first: 1, other: 4 } as const;
/** Answers to interactions do not count. */
const uncountedPath = /\/v10\/(?:interactions|webhooks)\//;

export class BotRateLimiter {
  readonly #steady: () => SteadyTime;
  /** When the bot's limit is full again. */
  #full: SteadyTime;

  readonly #bestEffortQueue: LowPriorityQueue;

  constructor(steady: () => SteadyTime, deadlines: Deadlines) {
    this.#steady = steady;
    this.#full = steady();
    this.#bestEffortQueue = new LowPriorityQueue(deadlines, (isFirst) => {
      const spare = isFirst ? reserved.first : reserved.other;
      return msUntilOne(this.#full, botLimit, steady(), spare);
    });
  }

  /**
   * Waits for a place; places go out in the order of asking.
   * @param waitMsMax the longest wait, in milliseconds
   * @returns null: the request may go, unless the signal has aborted; else the milliseconds until
   *   the next try
   */
  async admit(url: string, waitMsMax: number, signal?: AbortSignal | null): Promise<number | null> {
    if (uncountedPath.test(url)) return null;
    const now = this.#steady();
    const ms = msUntilOne(this.#full, botLimit, now);
    if (ms > waitMsMax) return ms;
    this.#full = fullAfterOne(this.#full, botLimit, now);
    if (ms > 0) await pause(ms, signal ?? new AbortController().signal);
    return null;
  }

  /**
   * Takes a place for a best-effort call, and leaves some free.
   * @param isFirst whether it is for the first preview of a reply, which goes before the others
   * @returns false: the signal aborted first
   */
  spare(signal: AbortSignal, isFirst = false): Promise<boolean> {
    const take = (): boolean => {
      this.#full = fullAfterOne(this.#full, botLimit, this.#steady());
      return true;
    };
    return this.#bestEffortQueue.next(take, signal, isFirst);
  }
}
