/**
 * Turns for what may be left out: each takes of an allowance what nobody else needs, in the order
 * of asking. So the more ask, the more time is between two turns of one of them.
 */
import type { Deadline, Deadlines } from '../lib/deadlines.ts';

type Waiting = { readonly serve: () => void };

export class SpareTurns {
  readonly #deadlines: Deadlines;
  readonly #msUntilOne: () => number;
  readonly #waiting: Waiting[] = [];
  #next: Deadline | null = null;

  /** @param msUntilOne until there is one for the first who waits; 0: now */
  constructor(deadlines: Deadlines, msUntilOne: () => number) {
    this.#deadlines = deadlines;
    this.#msUntilOne = msUntilOne;
  }

  /**
   * @param take takes it at once, unless it cannot be taken any more
   * @returns whether it was taken; false as well: stopped before
   */
  next(take: () => boolean, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const stopped = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve(false);
      };
      const waiting: Waiting = {
        serve: () => {
          signal.removeEventListener('abort', stopped);
          resolve(take());
        },
      };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', stopped, { once: true });
      if (this.#next === null) this.#serve();
    });
  }

  readonly #serve = (): void => {
    this.#next = null;
    while (this.#waiting.length > 0) {
      const ms = this.#msUntilOne();
      if (ms > 0) {
        this.#next = this.#deadlines.after(ms, this.#serve);
        return;
      }
      this.#waiting.shift()!.serve();
    }
  };
}
