/**
 * How long things took, as counts in buckets that grow by the same factor each: small enough to be
 * kept by the thousand, and told to within 10 % at any length. Two of them add up to that of both.
 */
const perDoubling = 4;
/** The last one holds all that took longer than 2^20 ms, which is 17 minutes. */
const buckets = 20 * perDoubling + 2;

/** The bucket of so many milliseconds; what took less than one is in the first. */
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

  /** Adds all that another one has counted. */
  add(other: LogHistogram): void {
    for (const [at, count] of other.#counts.entries()) this.#counts[at]! += count;
    this.#count += other.#count;
  }

  /**
   * The middle of the bucket in which that share of all is reached: at most 10 % off.
   * @param share in (0, 1]: 0.95 is the 95th percentile
   * @returns milliseconds, or null while nothing was observed
   */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.ceil(share * this.#count);
    const place = this.#counts.findIndex((count) => (left -= count) <= 0);
    return place === 0 ? 1 : 2 ** ((place - 0.5) / perDoubling);
  }

  /** The buckets that hold any: the place of each, and its count behind it. */
  told(): number[] {
    const told: number[] = [];
    for (const [at, count] of this.#counts.entries()) if (count > 0) told.push(at, count);
    return told;
  }

  /** Adds what was told; what is no bucket's is left out. */
  addTold(told: readonly number[]): void {
    for (let at = 0; at + 1 < told.length; at += 2) {
      const [place, count] = [told[at]!, told[at + 1]!];
      const isBucket = Number.isInteger(place) && place >= 0 && place < buckets;
      if (!isBucket || !Number.isSafeInteger(count) || count < 0) continue;
      this.#counts[place]! += count;
      this.#count += count;
    }
  }
}
