/**
 * Loads a value when a caller first asks for it, and keeps it. It does not keep a failed load: the
 * next call tries again.
 */
export class LoadOnce<T> {
  readonly #load: () => Promise<T>;
  #loading: Promise<T> | null = null;
  #value: T | null = null;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  /** The loaded value; null: there is none yet. */
  get value(): T | null {
    return this.#value;
  }

  /** Callers during a load get the result of that load. Rejects if the load rejects. */
  get(): Promise<T> {
    if (this.#loading !== null) return this.#loading;
    const loading = this.#load();
    this.#loading = loading;
    void this.#track(loading);
    return loading;
  }

  /**
   * Forgets the value, so that the next `get` loads anew. Never rejects.
   * @returns the value, once a load under way is over; null: there is none
   */
  async release(): Promise<T | null> {
    const loading = this.#loading;
    this.#loading = null;
    this.#value = null;
    if (loading === null) return null;
    return loading.catch(() => null);
  }

  /** Never rejects. */
  async #track(loading: Promise<T>): Promise<void> {
    try {
      const value = await loading;
      if (this.#loading === loading) this.#value = value;
    } catch {
      if (this.#loading === loading) this.#loading = null;
    }
  }
}
