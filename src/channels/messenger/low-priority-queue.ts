/**
 * Turns for what may be left out: each takes of an allowance what nobody else needs, in the order
 * of asking. So the more ask, the more time is between two turns of one of them. The first sight of
 * a reply goes before everything else that asks.
 */
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';

type Waiting = { readonly serve: () => void };

export class LowPriorityQueue {
  readonly #deadlines: Deadlines;
  readonly #msUntilOne: (isFirst: boolean) => number;
  readonly #firsts: Waiting[] = [];
  readonly #others: Waiting[] = [];
  #next: Deadline | null = null;

  /** @param msUntilOne until there is one for the first who waits of that kind; 0: now */
  constructor(deadlines: Deadlines, msUntilOne: (isFirst: boolean) => number) {
    this.#deadlines = deadlines;
    this.#msUntilOne = msUntilOne;
  }

  /**
   * @param take takes it at once, unless it cannot be taken any more
   * @param isFirst whether it is the first sight of a reply
   * @returns whether it was taken; false as well: stopped before
   */
  next(take: () => boolean, signal: AbortSignal, isFirst = false): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const queue = isFirst ? this.#firsts : this.#others;
      const stopped = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        resolve(false);
      };
      const waiting: Waiting = {
        serve: () => {
          signal.removeEventListener('abort', stopped);
          resolve(take());
        },
      };
      queue.push(waiting);
      signal.addEventListener('abort', stopped, { once: true });
      // The time that is waited for is that of the others.
      if (isFirst) this.#next?.cancel();
      if (isFirst || this.#next === null) this.#serve();
    });
  }

  readonly #serve = (): void => {
    this.#next = null;
    for (;;) {
      const isFirst = this.#firsts.length > 0;
      const queue = isFirst ? this.#firsts : this.#others;
      if (queue.length === 0) return;
      const ms = this.#msUntilOne(isFirst);
      if (ms > 0) {
        this.#next = this.#deadlines.after(ms, this.#serve);
        return;
      }
      queue.shift()!.serve();
    }
  };
}
