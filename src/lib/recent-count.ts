import type { SteadyTime } from './clock.ts';

/** How many came in the last minute, to the second: sixty counts, however many come. */
const seconds = 60;

export class RecentCount {
  readonly #counts = new Float64Array(seconds);
  /** The second up to which the counts are right. */
  #second = 0;

  add(time: SteadyTime): void {
    this.#pass(time);
    this.#counts[this.#second % seconds]!++;
  }

  count(time: SteadyTime): number {
    this.#pass(time);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Seconds that have begun meanwhile are empty. */
  #pass(time: SteadyTime): void {
    const second = Math.floor(time / 1_000);
    if (second <= this.#second) return;
    if (second - this.#second >= seconds) this.#counts.fill(0);
    else while (this.#second < second) this.#counts[++this.#second % seconds] = 0;
    this.#second = second;
  }
}
