/** Tells what comes for the first time, as far as it remembers: the last thousand. */
export class FirstSeen {
  readonly #known = new Set<string>();

  isFirst(key: string): boolean {
    if (this.#known.has(key)) return false;
    this.#known.add(key);
    const [oldest] = this.#known;
    if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest);
    return true;
  }
}

const knownMax = 1_000;
