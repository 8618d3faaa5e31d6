import type { Stop } from './stop.ts';

type Waiting = { readonly bytes: number; readonly enter: (entered: boolean) => void };

/** Lets no more than so many bytes be held at once, in the order in which they are asked for. */
export class ByteSemaphore {
  readonly #most: number;
  readonly #waiting: Waiting[] = [];
  #free: number;

  constructor(bytesMax: number) {
    this.#most = bytesMax;
    this.#free = bytesMax;
  }

  /**
   * Calls `act` once there is room for what it holds, which is until it is over. More than there is
   * in all counts as all of it.
   * @returns null: it was stopped before
   */
  async within<T>(bytes: number, stop: Stop, act: () => Promise<T>): Promise<T | null> {
    const held = Math.min(bytes, this.#most);
    if (!(await this.#enter(held, stop))) return null;
    try {
      return await act();
    } finally {
      this.#free += held;
      this.#admit();
    }
  }

  #enter(bytes: number, stop: Stop): Promise<boolean> {
    if (stop.stopped) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting = { bytes, enter: resolve };
    const leave = (): void => {
      const at = this.#waiting.indexOf(waiting);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      resolve(false);
      // A large one may have been in the way of smaller ones.
      this.#admit();
    };
    this.#waiting.push(waiting);
    stop.listen(leave);
    this.#admit();
    return promise.finally(() => stop.unlisten(leave));
  }

  #admit(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.bytes > this.#free) return;
      this.#waiting.shift();
      this.#free -= first.bytes;
      first.enter(true);
    }
  }
}
