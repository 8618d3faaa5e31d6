import { Histogram } from '../../lib/histogram.ts';

const everyMs = 100;

/**
 * How late the event loop runs what is due: a timer that should ring every 100 ms, and by how much
 * it was late. Begins when it is made, ends when disposed of, and keeps no process alive.
 */
export class LagWatch implements Disposable {
  readonly histogram = new Histogram();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let dueAt = performance.now() + everyMs;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.histogram.observe(Math.max(0, now - dueAt));
      dueAt = now + everyMs;
    }, everyMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
