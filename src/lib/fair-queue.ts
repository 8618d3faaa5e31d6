/** Fair sharing: a queue where owners take turns, and a semaphore over bytes that uses it. */
import type { Stop } from './stop.ts';

/**
 * A queue in which the waiting owners take turns. No owner has two turns in a row while another
 * waits. Each turn takes one item of the owner. So an owner with many items does not block the
 * others.
 */
export class FairQueue<T> {
  readonly #waiting = new Map<string, T[]>();
  /** The owner of the last turn. */
  #last: string | null = null;

  push(owner: string, item: T): void {
    const items = this.#waiting.get(owner);
    if (items === undefined) this.#waiting.set(owner, [item]);
    else items.push(item);
  }

  first(): T | undefined {
    return this.#next()?.items[0];
  }

  shift(): T | undefined {
    const next = this.#next();
    if (next === null) return undefined;
    const { owner, items } = next;
    this.#last = owner;
    const item = items.shift();
    // Behind all others.
    this.#waiting.delete(owner);
    if (items.length > 0) this.#waiting.set(owner, items);
    return item;
  }

  /** @returns whether the item was waiting */
  delete(owner: string, item: T): boolean {
    const items = this.#waiting.get(owner) ?? [];
    const at = items.indexOf(item);
    if (at < 0) return false;
    items.splice(at, 1);
    if (items.length === 0) this.#waiting.delete(owner);
    return true;
  }

  #next(): { readonly owner: string; readonly items: T[] } | null {
    let next = null;
    for (const [owner, items] of this.#waiting) {
      next = { owner, items };
      if (owner !== this.#last) break;
    }
    return next;
  }
}

type WaitingRequest = { readonly bytes: number; readonly enter: (entered: boolean) => void };

/** Limits the bytes that are in use at once. Owners who ask for bytes take turns. */
export class ByteSemaphore {
  readonly #bytesMax: number;
  readonly #waiting = new FairQueue<WaitingRequest>();
  #free: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#free = bytesMax;
  }

  /**
   * Calls `act` once there is room for its bytes, and holds them until `act` has ended. A request
   * above the limit counts as the whole limit.
   * @returns null: the stop came first
   */
  async within<T>(
    { bytes, whose }: { readonly bytes: number; readonly whose: string },
    stop: Stop,
    act: () => Promise<T>,
  ): Promise<T | null> {
    const held = Math.min(bytes, this.#bytesMax);
    if (!(await this.#enter(held, whose, stop))) return null;
    try {
      return await act();
    } finally {
      this.#free += held;
      this.#admit();
    }
  }

  #enter(bytes: number, owner: string, stop: Stop): Promise<boolean> {
    if (stop.stopped) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting = { bytes, enter: resolve };
    const leave = (): void => {
      if (!this.#waiting.delete(owner, waiting)) return;
      resolve(false);
      // A large request may have blocked smaller ones.
      this.#admit();
    };
    this.#waiting.push(owner, waiting);
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
