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

/** The same by name, as pairs: what went from one to another. Of more pairs none is counted. */
export class RecentPairs {
  readonly #counts = new Map<string, Map<string, RecentCount>>();
  readonly #pairsMax: number;
  #pairs = 0;

  constructor(pairsMax: number) {
    this.#pairsMax = pairsMax;
  }

  add(from: string, to: string, time: SteadyTime): void {
    (this.#counts.get(from)?.get(to) ?? this.#meet(from, to))?.add(time);
  }

  #meet(from: string, to: string): RecentCount | null {
    if (this.#pairs >= this.#pairsMax) return null;
    this.#pairs++;
    const counts = this.#counts.get(from) ?? new Map<string, RecentCount>();
    this.#counts.set(from, counts);
    const count = new RecentCount();
    counts.set(to, count);
    return count;
  }

  /** Those of the last minute; the others are forgotten, and make room. */
  count(time: SteadyTime): readonly RecentPair[] {
    const pairs: RecentPair[] = [];
    for (const [from, counts] of this.#counts) {
      for (const [to, recent] of counts) {
        const count = recent.count(time);
        if (count > 0) pairs.push({ from, to, count });
        else if (counts.delete(to)) this.#pairs--;
      }
      if (counts.size === 0) this.#counts.delete(from);
    }
    return pairs;
  }
}

export type RecentPair = { readonly from: string; readonly to: string; readonly count: number };
