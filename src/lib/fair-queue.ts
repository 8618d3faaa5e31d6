import type { Stop } from './stop.ts';

/**
 * Who waits has a turn, and nobody has two on end while another waits; each turn takes one of all
 * that they wait with. So one who brings much is not in the way of the others.
 */
export class FairQueue<T> {
  readonly #waiting = new Map<string, T[]>();
  /** Whose turn was last. */
  #last: string | null = null;

  push(whose: string, item: T): void {
    const own = this.#waiting.get(whose);
    if (own === undefined) this.#waiting.set(whose, [item]);
    else own.push(item);
  }

  first(): T | undefined {
    return this.#next()?.own[0];
  }

  shift(): T | undefined {
    const next = this.#next();
    if (next === null) return undefined;
    const { whose, own } = next;
    this.#last = whose;
    const item = own.shift();
    // Behind all others.
    this.#waiting.delete(whose);
    if (own.length > 0) this.#waiting.set(whose, own);
    return item;
  }

  /** @returns whether it waited */
  delete(whose: string, item: T): boolean {
    const own = this.#waiting.get(whose) ?? [];
    const at = own.indexOf(item);
    if (at < 0) return false;
    own.splice(at, 1);
    if (own.length === 0) this.#waiting.delete(whose);
    return true;
  }

  #next(): { readonly whose: string; readonly own: T[] } | null {
    let next = null;
    for (const [whose, own] of this.#waiting) {
      next = { whose, own };
      if (whose !== this.#last) break;
    }
    return next;
  }
}

type Waiting = { readonly bytes: number; readonly enter: (entered: boolean) => void };

/** Lets no more than so many bytes be held at once; who asks for some has them in turn. */
export class ByteSemaphore {
  readonly #most: number;
  readonly #waiting = new FairQueue<Waiting>();
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
  async within<T>(
    { bytes, whose }: { readonly bytes: number; readonly whose: string },
    stop: Stop,
    act: () => Promise<T>,
  ): Promise<T | null> {
    const held = Math.min(bytes, this.#most);
    if (!(await this.#enter(held, whose, stop))) return null;
    try {
      return await act();
    } finally {
      this.#free += held;
      this.#admit();
    }
  }

  #enter(bytes: number, whose: string, stop: Stop): Promise<boolean> {
    if (stop.stopped) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting = { bytes, enter: resolve };
    const leave = (): void => {
      if (!this.#waiting.delete(whose, waiting)) return;
      resolve(false);
      // A large one may have been in the way of smaller ones.
      this.#admit();
    };
    this.#waiting.push(whose, waiting);
    stop.listen(leave);
    this.#admit();
    return promise.finally(() => stop.unlisten(leave));
  }

  #admit(): void {
    for (let first = this.#waiting.first(); first !== undefined; first = this.#waiting.first()) {
      if (first.bytes > this.#free) return;
      this.#waiting.shift();
      this.#free -= first.bytes;
      first.enter(true);
    }
  }
}
