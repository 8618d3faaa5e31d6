/** Waits for events of a fake server. A wait in vain fails with its description. */
import { patienceMs } from '../support/waiting.ts';

type Waiting = { readonly look: () => void; readonly stop: (why: Error) => void };

export class Watch {
  readonly #waiting = new Set<Waiting>();

  /** Makes every waiter check again. */
  changed(): void {
    for (const { look } of this.#waiting) look();
  }

  /**
   * Returns the first result of `find`.
   * @param what named in the error when nothing came
   * @param boundMs for a benchmark or a proof, whose size determines how long it takes
   */
  async until<T>(find: () => T | undefined, what: string, boundMs = patienceMs): Promise<T> {
    const there = find();
    if (there !== undefined) return there;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const entry: Waiting = {
      look: () => {
        const found = find();
        if (found !== undefined) resolve(found);
      },
      stop: reject,
    };
    this.#waiting.add(entry);
    const inVain = (): void => reject(new Error(`waited ${boundMs} ms in vain for ${what}`));
    const timer = setTimeout(inVain, boundMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(entry);
    }
  }

  /** The server is gone: every waiter fails with this. */
  close(): void {
    for (const { stop } of this.#waiting) stop(new Error('the fake server was closed'));
  }
}
