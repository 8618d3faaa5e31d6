/** Lanes that are to be read before what has come into them is worked. */
import type { OwnedLane } from './owned-queue.ts';

export class UnreadLanes {
  readonly #lanes = new Set<OwnedLane>();
  /** How many are being read. */
  #reading = 0;

  get hasAny(): boolean {
    return this.#lanes.size > 0;
  }

  /** How many are to be read, or are being read. */
  get pending(): number {
    return this.#lanes.size + this.#reading;
  }

  add(lane: OwnedLane): void {
    this.#lanes.add(lane);
  }

  delete(lane: OwnedLane): void {
    this.#lanes.delete(lane);
  }

  clear(): void {
    this.#lanes.clear();
  }

  /** All of them; from now on they count as being read. */
  take(): readonly OwnedLane[] {
    const lanes = [...this.#lanes];
    this.#lanes.clear();
    this.#reading += lanes.length;
    return lanes;
  }

  /** Whatever was taken was read, or is not to be any more. */
  allRead(): void {
    this.#reading = 0;
  }
}
