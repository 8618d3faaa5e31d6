/** When something is to run next: of several times the earliest counts. */
import type { SteadyTime } from '../../../lib/clock.ts';

export class WakeTimer {
  readonly #steady: () => SteadyTime;
  readonly #run: () => void;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;
  #isScheduled = false;

  /** @param run is called at the time, and may set another one */
  constructor(steady: () => SteadyTime, run: () => void) {
    this.#steady = steady;
    this.#run = run;
  }

  /** When all that happens just now is over. */
  now(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#run();
    });
  }

  within(ms: number): void {
    const at = this.#steady() + ms;
    if (at >= this.#timerAt) return;
    this.clear();
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      this.#run();
    }, ms);
  }

  /** What was set for a time is not to come. */
  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#timerAt = Infinity;
  }
}
