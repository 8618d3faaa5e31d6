import { steadyNow, type SteadyTime } from '../../../lib/clock.ts';

/** About a thousand messages a second. */
const writesPerMs = 5;

/** Whether so much is written just now that what can wait should wait for longer. */
export class LoadGauge {
  readonly #steady: () => SteadyTime;
  #writes = 0;
  #countedAt: SteadyTime;

  constructor(steady: () => SteadyTime = steadyNow) {
    this.#steady = steady;
    this.#countedAt = steady();
  }

  wrote(writes: number): void {
    this.#writes += writes;
  }

  /** @returns whether there was a rush since this was asked last */
  isOver(): boolean {
    const at = this.#steady();
    const isBusy = this.#writes > writesPerMs * (at - this.#countedAt);
    this.#writes = 0;
    this.#countedAt = at;
    return !isBusy;
  }
}
