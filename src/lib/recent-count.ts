/** How many there were in the last minute, to the second: sixty counts, however many come. */
const seconds = 60;

export class RecentCount {
  readonly #counts = new Float64Array(seconds);
  /** The second (since 1970) up to which the counts are right. */
  #second = 0;

  /** @param now milliseconds since 1970; a clock that goes backward counts in its last second */
  add(now: number): void {
    this.#pass(now);
    this.#counts[this.#second % seconds]!++;
  }

  count(now: number): number {
    this.#pass(now);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Seconds that have begun meanwhile are empty. */
  #pass(now: number): void {
    const second = Math.floor(now / 1_000);
    if (second <= this.#second) return;
    if (second - this.#second >= seconds) this.#counts.fill(0);
    else while (this.#second < second) this.#counts[++this.#second % seconds] = 0;
    this.#second = second;
  }
}
