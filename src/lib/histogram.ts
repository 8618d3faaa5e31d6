/**
 * Histograms of durations: one with fixed buckets for metrics, and a finer one for health and load.
 */

/** Durations in milliseconds, counted in fixed buckets: the histogram never grows. */
export class Histogram {
  /** The inclusive upper bounds of the buckets; the last bucket has none. */
  static readonly boundsMs: readonly number[] = [
    1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000,
    300_000, 600_000,
  ];

  readonly counts = new Float64Array(Histogram.boundsMs.length + 1);
  count = 0;
  sumMs = 0;

  /**
   * Makes one from counts of another process. If that one had other buckets, the result is empty.
   * @param counts in each bucket, in the order of `counts`
   */
  static of(counts: readonly number[], sumMs: number): Histogram {
    const made = new Histogram();
    if (counts.length !== made.counts.length) return made;
    made.counts.set(counts);
    made.count = counts.reduce((sum, count) => sum + count, 0);
    made.sumMs = sumMs;
    return made;
  }

  observe(ms: number): void {
    const bounds = Histogram.boundsMs;
    let at = 0;
    while (at < bounds.length && ms > bounds[at]!) at++;
    this.counts[at]!++;
    this.count++;
    this.sumMs += ms;
  }

  /** Adds the counts of another one. */
  add(other: Readonly<Histogram>): void {
    for (const [at, count] of other.counts.entries()) this.counts[at]! += count;
    this.count += other.count;
    this.sumMs += other.sumMs;
  }

  /**
   * An estimate: durations are evenly spread within their bucket. Beyond the last bound it is that
   * bound.
   * @param share in (0, 1]: 0.95 is the 95th percentile
   * @returns milliseconds; null: nothing was observed
   */
  quantile(share: number): number | null {
    if (this.count === 0) return null;
    const rank = share * this.count;
    let below = 0;
    for (const [at, bound] of Histogram.boundsMs.entries()) {
      const inside = this.counts[at]!;
      if (inside > 0 && below + inside >= rank) {
        const lower = at === 0 ? 0 : Histogram.boundsMs[at - 1]!;
        return lower + ((rank - below) / inside) * (bound - lower);
      }
      below += inside;
    }
    return Histogram.boundsMs.at(-1)!;
  }
}

/**
 * Durations counted in buckets that grow by a constant factor. It is small enough to keep thousands
 * of them, and exact to 10 % at any length. The sum of two is the histogram of both.
 */
const perDoubling = 4;
/** The last bucket holds durations above 2^20 ms, which is 17 minutes. */
const buckets = 20 * perDoubling + 2;

/** The bucket of a duration; durations below one millisecond are in the first. */
function placeOf(ms: number): number {
  if (!(ms > 1)) return 0;
  return Math.min(buckets - 1, Math.ceil(Math.log2(ms) * perDoubling));
}

export class LogHistogram {
  readonly #counts = new Uint32Array(buckets);
  #count = 0;

  observe(ms: number): void {
    this.#counts[placeOf(ms)]!++;
    this.#count++;
  }

  /** Adds the counts of another one. */
  add(other: LogHistogram): void {
    for (const [at, count] of other.#counts.entries()) this.#counts[at]! += count;
    this.#count += other.#count;
  }

  /**
   * The middle of the bucket that reaches this share: at most 10 % off.
   * @param share in (0, 1]: 0.95 is the 95th percentile
   * @returns milliseconds; null: nothing was observed
   */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.ceil(share * this.#count);
    const place = this.#counts.findIndex((count) => (left -= count) <= 0);
    return place === 0 ? 1 : 2 ** ((place - 0.5) / perDoubling);
  }

  /** The buckets that are not empty, as pairs: the place of each, and its count. */
  told(): number[] {
    const pairs: number[] = [];
    for (const [at, count] of this.#counts.entries()) if (count > 0) pairs.push(at, count);
    return pairs;
  }

  /** Adds such pairs, and ignores invalid ones. */
  addTold(pairs: readonly number[]): void {
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      const place = pairs[at]!;
      const count = pairs[at + 1]!;
      const isBucket = Number.isInteger(place) && place >= 0 && place < buckets;
      if (!isBucket || !Number.isSafeInteger(count) || count < 0) continue;
      this.#counts[place]! += count;
      this.#count += count;
    }
  }
}
