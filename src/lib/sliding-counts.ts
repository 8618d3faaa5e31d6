/** Counts over the last minute or the last five minutes, in constant memory. */
import type { SteadyTime } from './clock.ts';

/** The resolution, and the number of steps that are remembered. */
const stepMs = 5_000;
const steps = 60;

/**
 * Counts of a few names in the last five minutes, with a resolution of five seconds. The memory per
 * name is constant.
 */
export class SlidingCounts<Name extends string> {
  readonly #namesMax: number;
  readonly #other: Name;
  readonly #counts = new Map<Name, Float64Array>();
  /** The step up to which the counts are right. */
  #step = 0;

  /** @param other the name to count under if `namesMax` other names came lately */
  constructor(namesMax: number, other: Name) {
    this.#namesMax = namesMax;
    this.#other = other;
  }

  add(name: Name, time: SteadyTime): void {
    this.#advance(time);
    this.#countsOf(name)[this.#step % steps]!++;
  }

  /** @param ms whole steps; the present step counts as a whole one */
  within(ms: number, time: SteadyTime): ReadonlyMap<Name, number> {
    this.#advance(time);
    const found = new Map<Name, number>();
    for (const name of this.#counts.keys()) {
      const count = this.#sum(name, ms);
      if (count > 0) found.set(name, count);
    }
    return found;
  }

  /** The same for one name. */
  count(name: Name, ms: number, time: SteadyTime): number {
    this.#advance(time);
    return this.#sum(name, ms);
  }

  clear(): void {
    this.#counts.clear();
  }

  #sum(name: Name, ms: number): number {
    const counts = this.#counts.get(name);
    if (counts === undefined) return 0;
    let sum = 0;
    const first = Math.max(0, this.#step - Math.min(steps, Math.round(ms / stepMs)) + 1);
    for (let step = first; step <= this.#step; step++) sum += counts[step % steps]!;
    return sum;
  }

  #countsOf(name: Name): Float64Array {
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    if (this.#counts.size >= this.#namesMax) this.#removeEmpty();
    if (this.#counts.size >= this.#namesMax && name !== this.#other)
      return this.#countsOf(this.#other);
    const counts = new Float64Array(steps);
    this.#counts.set(name, counts);
    return counts;
  }

  #removeEmpty(): void {
    for (const [name, counts] of this.#counts) {
      if (counts.every((count) => count === 0)) this.#counts.delete(name);
    }
  }

  /** Clears the steps that have begun meanwhile. */
  #advance(time: SteadyTime): void {
    const step = Math.floor(time / stepMs);
    if (step <= this.#step) return;
    const passed = step - this.#step;
    for (const counts of this.#counts.values()) {
      if (passed >= steps) counts.fill(0);
      else for (let one = this.#step + 1; one <= step; one++) counts[one % steps] = 0;
    }
    this.#step = step;
  }
}

/** The counts of successes and failures. */
type ShareCounts = { readonly good: number; readonly bad: number };

/** Successes and failures in the last five minutes, with a resolution of five seconds. */
export class SlidingShare {
  readonly #counts = new SlidingCounts<keyof ShareCounts>(2, 'bad');

  add(isGood: boolean, time: SteadyTime): void {
    this.#counts.add(isGood ? 'good' : 'bad', time);
  }

  /** @param ms how far back, up to five minutes; the present step counts as a whole one */
  of(ms: number, time: SteadyTime): ShareCounts {
    const count = (kind: keyof ShareCounts): number => this.#counts.count(kind, ms, time);
    return { good: count('good'), bad: count('bad') };
  }

  clear(): void {
    this.#counts.clear();
  }
}

/** A count over the last minute, in sixty counters of one second. */
const seconds = 60;

export class RecentCount {
  readonly #counts = new Float64Array(seconds);
  /** The second up to which the counts are right. */
  #second = 0;

  add(time: SteadyTime): void {
    this.#advance(time);
    this.#counts[this.#second % seconds]!++;
  }

  count(time: SteadyTime): number {
    this.#advance(time);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Clears the seconds that have begun meanwhile. */
  #advance(time: SteadyTime): void {
    const second = Math.floor(time / 1_000);
    if (second <= this.#second) return;
    if (second - this.#second >= seconds) this.#counts.fill(0);
    else while (this.#second < second) this.#counts[++this.#second % seconds] = 0;
    this.#second = second;
  }
}

/**
 * The same for pairs of names: events from one to another. It does not count further pairs above
 * the limit.
 */
export class RecentPairs {
  readonly #counts = new Map<string, Map<string, RecentCount>>();
  readonly #pairsMax: number;
  #pairs = 0;

  constructor(pairsMax: number) {
    this.#pairsMax = pairsMax;
  }

  add(from: string, to: string, time: SteadyTime): void {
    (this.#counts.get(from)?.get(to) ?? this.#addPair(from, to))?.add(time);
  }

  #addPair(from: string, to: string): RecentCount | null {
    if (this.#pairs >= this.#pairsMax) return null;
    this.#pairs++;
    const counts = this.#counts.get(from) ?? new Map<string, RecentCount>();
    this.#counts.set(from, counts);
    const count = new RecentCount();
    counts.set(to, count);
    return count;
  }

  /** The pairs of the last minute. The others are forgotten, which makes room. */
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
