/**
 * Loads something when it is first asked for, and keeps it. A load that failed is not kept: the
 * next call tries again.
 */
export class LoadOnce<T> {
  readonly #load: () => Promise<T>;
  #loading: Promise<T> | null = null;
  #value: T | null = null;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  /** What was loaded; null: nothing is there yet. */
  get value(): T | null {
    return this.#value;
  }

  /** All callers during a load under way get its result. Rejects as the load does. */
  get(): Promise<T> {
    if (this.#loading !== null) return this.#loading;
    const loading = this.#load();
    this.#loading = loading;
    void this.#heed(loading);
    return loading;
  }

  /**
   * Gives up what was loaded, so that the next `get` loads anew. Never rejects.
   * @returns it, once a load under way is over; null: there is nothing
   */
  async release(): Promise<T | null> {
    const loading = this.#loading;
    this.#loading = null;
    this.#value = null;
    if (loading === null) return null;
    return loading.catch(() => null);
  }

  /** Never rejects. */
  async #heed(loading: Promise<T>): Promise<void> {
    try {
      const value = await loading;
      if (this.#loading === loading) this.#value = value;
    } catch {
      if (this.#loading === loading) this.#loading = null;
    }
  }
}
