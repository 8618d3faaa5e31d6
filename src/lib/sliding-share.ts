import type { SteadyTime } from './clock.ts';
import { SlidingCounts } from './sliding-counts.ts';

/** How many of each of two kinds there were. */
export type Counted = { readonly good: number; readonly bad: number };

/** What went well and what did not in the last five minutes, to five seconds. */
export class SlidingShare {
  readonly #counts = new SlidingCounts<keyof Counted>(2, 'bad');

  add(isGood: boolean, time: SteadyTime): void {
    this.#counts.add(isGood ? 'good' : 'bad', time);
  }

  /** @param ms how far back, up to five minutes; the slot that has begun counts as a whole one */
  of(ms: number, time: SteadyTime): Counted {
    const count = (kind: keyof Counted): number => this.#counts.count(kind, ms, time);
    return { good: count('good'), bad: count('bad') };
  }

  clear(): void {
    this.#counts.clear();
  }
}
