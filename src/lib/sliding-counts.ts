import type { SteadyTime } from './clock.ts';

const slotMs = 5_000;
/** Five minutes of them. */
const slots = 60;

/** How many of each of two kinds there were. */
export type Counted = { readonly good: number; readonly bad: number };

/** What went well and what did not in the last five minutes, to five seconds: two small rings. */
export class SlidingCounts {
  readonly #good = new Uint32Array(slots);
  readonly #bad = new Uint32Array(slots);
  /** The slot up to which the counts are right. */
  #slot = 0;

  add(isGood: boolean, time: SteadyTime): void {
    this.#pass(time);
    (isGood ? this.#good : this.#bad)[this.#slot % slots]!++;
  }

  /** @param ms how far back, up to five minutes; the slot that has begun counts as a whole one */
  of(ms: number, time: SteadyTime): Counted {
    this.#pass(time);
    let [good, bad] = [0, 0];
    const many = Math.min(slots, Math.ceil(ms / slotMs));
    for (let back = 0; back < many; back++) {
      const at = (this.#slot - back + slots) % slots;
      good += this.#good[at]!;
      bad += this.#bad[at]!;
    }
    return { good, bad };
  }

  clear(): void {
    this.#good.fill(0);
    this.#bad.fill(0);
  }

  /** Slots that have begun meanwhile are empty. */
  #pass(time: SteadyTime): void {
    const slot = Math.floor(time / slotMs);
    if (slot <= this.#slot) return;
    if (slot - this.#slot >= slots) this.clear();
    else for (let next = this.#slot + 1; next <= slot; next++) this.#empty(next % slots);
    this.#slot = slot;
  }

  #empty(at: number): void {
    this.#good[at] = 0;
    this.#bad[at] = 0;
  }
}
