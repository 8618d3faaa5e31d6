/**
 * Looks after work that others leave: at once, whenever it is woken, and when the look before said
 * that something is due. One look at a time; who wakes it meanwhile is heard after it.
 */
export type OwedWorkDeps = {
  /** @returns in how many milliseconds to look again at the latest */
  readonly look: () => Promise<number>;
  /** A look failed, and another one comes after `againMs`; not called once it has ended. */
  readonly failed: (error: unknown) => void;
  readonly againMs: number;
};

export class OwedWork {
  readonly #deps: OwedWorkDeps;
  readonly #over = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #isWoken = false;

  constructor(deps: OwedWorkDeps) {
    this.#deps = deps;
  }

  /** Aborts when it ends. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  readonly wake = (): void => void this.#lookSoon();

  end(): void {
    this.#over.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #lookSoon(): Promise<void> {
    this.#isWoken = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    let dueMs = this.#deps.againMs;
    while (this.#isWoken && !this.over.aborted) {
      this.#isWoken = false;
      dueMs = await this.#look();
    }
    this.#isLooking = false;
    if (!this.over.aborted) this.#timer = setTimeout(this.wake, dueMs).unref();
  }

  /** Never rejects. */
  async #look(): Promise<number> {
    const { look, failed, againMs } = this.#deps;
    try {
      return await look();
    } catch (error) {
      if (!this.over.aborted) failed(error);
      return againMs;
    }
  }
}
