import type { SteadyTime } from '../lib/clock.ts';

/**
 * It is silent once so many calls are open and none has ended for so long, and by that factor for
 * longer than its slowest answer of the last minutes: calls wait for each other at the provider.
 */
const silentAfter = { ms: 10_000, open: 3, factor: 4 };
/** With fewer open, or where no answer shows how long one takes: it may just be loading. */
const unsureMs = 60_000;
const latelyMs = 300_000;

/** The open calls of one model: that one hangs would else show only by its end. */
export class OpenCalls {
  #open = 0;
  /** When one ended that shows anything, or the first of those began that are open. */
  #stirredAt = 0;
  #slowest = { at: 0, ms: 0, msBefore: 0 };

  began(time: SteadyTime): void {
    if (this.#open++ === 0) this.#stirredAt = time;
  }

  /** @param shows whether it says anything of the model */
  ended(shows: boolean, time: SteadyTime): void {
    this.#open = Math.max(0, this.#open - 1);
    if (shows) this.#stirredAt = time;
  }

  /** @param ms how long the answer took */
  answered(ms: number, time: SteadyTime): void {
    this.#pass(time);
    this.#slowest.ms = Math.max(this.#slowest.ms, ms);
  }

  /** @returns for how many milliseconds nothing has come of them; null: it is not silent */
  silentMs(time: SteadyTime): number | null {
    if (this.#open === 0) return null;
    this.#pass(time);
    const { ms, msBefore } = this.#slowest;
    const slowestMs = Math.max(ms, msBefore);
    const isSure = this.#open >= silentAfter.open && slowestMs > 0;
    const limitMs = Math.max(isSure ? silentAfter.ms : unsureMs, silentAfter.factor * slowestMs);
    const silentMs = time - this.#stirredAt;
    return silentMs < limitMs ? null : silentMs;
  }

  /** What is older than twice that time is forgotten. */
  #pass(time: SteadyTime): void {
    const { at, ms } = this.#slowest;
    if (time - at < latelyMs) return;
    this.#slowest = { at: time, ms: 0, msBefore: time - at < 2 * latelyMs ? ms : 0 };
  }
}
