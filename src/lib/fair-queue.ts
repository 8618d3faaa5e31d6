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
