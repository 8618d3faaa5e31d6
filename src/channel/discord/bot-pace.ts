/**
 * When the bot may send its next request. Discord takes 50 a second of a bot, and counts them in
 * windows that begin with what arrives. Sent evenly, and below that, no window has too many, also
 * where some arrive late.
 * Page: https://discord.com/developers/docs/topics/rate-limits#global-rate-limit.
 */
import { pause } from '../../lib/backoff.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { fullAfterOne, msUntilOne, type Allowance } from '../allowance.ts';

const ofBot: Allowance = { everyMs: 30, burst: 8 };
/** Answers to interactions do not count. */
const uncounted = /\/v10\/(?:interactions|webhooks)\//;

export class BotPace {
  readonly #steady: () => SteadyTime;
  /** When the bot's allowance is full again. */
  #full: SteadyTime;

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
    this.#full = steady();
  }

  /**
   * Waits for a place, which is given out in the order of asking.
   * @param waitMsMax what it waits for at most; 0: only where a place is left over besides
   * @returns null: it may be sent now, unless the signal was aborted meanwhile; else the
   *   milliseconds after which it may ask again
   */
  async admit(url: string, waitMsMax: number, signal?: AbortSignal | null): Promise<number | null> {
    if (uncounted.test(url)) return null;
    const now = this.#steady();
    const ms = msUntilOne(this.#full, ofBot, now, waitMsMax === 0 ? 1 : 0);
    if (ms > waitMsMax) return ms;
    this.#full = fullAfterOne(this.#full, ofBot, now);
    if (ms > 0) await pause(ms, signal ?? new AbortController().signal);
    return null;
  }
}
