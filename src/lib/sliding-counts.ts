import type { SteadyTime } from './clock.ts';

/** How finely it counts, and for how long what came is known. */
const stepMs = 5_000;
const steps = 60;

/**
 * How often each of a few names came in the last five minutes, to five seconds: a fixed number of
 * counts a name, however often it comes.
 */
export class SlidingCounts<Name extends string> {
  readonly #namesMax: number;
  readonly #other: Name;
  readonly #counts = new Map<Name, Float64Array>();
  /** The step up to which the counts are right. */
  #step = 0;

  /** @param other what a name counts as once there are so many names that came lately */
  constructor(namesMax: number, other: Name) {
    this.#namesMax = namesMax;
    this.#other = other;
  }

  add(name: Name, time: SteadyTime): void {
    this.#pass(time);
    this.#of(name)[this.#step % steps]!++;
  }

  /** @param ms whole steps; the one that has just begun counts as one */
  within(ms: number, time: SteadyTime): ReadonlyMap<Name, number> {
    this.#pass(time);
    const found = new Map<Name, number>();
    for (const name of this.#counts.keys()) {
      const count = this.#sum(name, ms);
      if (count > 0) found.set(name, count);
    }
    return found;
  }

  /** The same of one name. */
  count(name: Name, ms: number, time: SteadyTime): number {
    this.#pass(time);
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

  #of(name: Name): Float64Array {
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    if (this.#counts.size >= this.#namesMax) this.#forgetQuiet();
    if (this.#counts.size >= this.#namesMax && name !== this.#other) return this.#of(this.#other);
    const counts = new Float64Array(steps);
    this.#counts.set(name, counts);
    return counts;
  }

  #forgetQuiet(): void {
    for (const [name, counts] of this.#counts) {
      if (counts.every((count) => count === 0)) this.#counts.delete(name);
    }
  }

  /** Steps that have begun meanwhile are empty. */
  #pass(time: SteadyTime): void {
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
