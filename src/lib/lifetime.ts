/**
 * Closes opened resources in the reverse order: a stack like `AsyncDisposableStack`, for an opening
 * that may fail, or be given up, at any of its waits.
 *
 * open → given up (the signal aborts) → closing → closed. Giving up ends every wait, and closes
 * nothing yet. A resource that opens after the closing began is closed at once. If a close fails,
 * or does not end, the other closes still run. `failed` gets each such error.
 */

/** A wait ended because the opening was given up, or because nothing may be opened any more. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp';

  constructor() {
    super('the opening was given up');
  }
}

type Owned = { readonly what: string; readonly close: () => unknown };

export class Lifetime {
  readonly #givenUp: AbortSignal;
  readonly #reportFailure: (what: string, error: unknown) => void;
  readonly #owned: Owned[] = [];
  /** Openings that have not ended. Each settles when its resource is owned, or closed. */
  readonly #opening = new Set<Promise<void>>();
  #closing: Promise<void> | null = null;
  #isClosing = false;

  /**
   * @param givenUp aborts to give up the opening
   * @param failed called with each error of a close; must not throw
   */
  constructor(givenUp: AbortSignal, failed: (what: string, error: unknown) => void) {
    this.#givenUp = givenUp;
    this.#reportFailure = failed;
  }

  /** From now on `close` is called with the other closes. */
  defer(what: string, close: () => unknown): void {
    this.#check();
    this.#owned.push({ what, close });
  }

  /**
   * Opens a resource that exists before it is open. `close` is called once, even if `open` fails.
   * It is called once more if `open` ends only after the close.
   * @throws GivenUp, and the errors of `open`
   */
  async use<T>(what: string, open: () => Promise<T>, close: () => unknown): Promise<T> {
    this.defer(what, close);
    const owned = { what, close };
    return this.#wait(open(), async () => {
      if (this.#isClosing) await this.#close(owned);
    });
  }

  /**
   * Opens a resource that exists only once it is open, and passes it to `close`.
   * @throws GivenUp, and the errors of `open`
   */
  async adopt<T>(what: string, open: () => Promise<T>, close: (opened: T) => unknown): Promise<T> {
    this.#check();
    return this.#wait(open(), async (opened) => {
      const owned = { what, close: () => close(opened) };
      if (this.#isClosing) await this.#close(owned);
      else this.#owned.push(owned);
    });
  }

  /**
   * Waits for a promise without owning its result, so this lifetime closes nothing of it.
   * @throws GivenUp, and the errors of `wait`
   */
  async within<T>(wait: () => Promise<T>): Promise<T> {
    this.#check();
    return this.#wait(wait(), async () => {});
  }

  /**
   * Closes all resources, one after the other. Never rejects.
   * @param withinMs for all of them. A close that takes longer continues by itself, and so do the
   *   closes after it.
   */
  close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    this.#closing ??= this.#closeAll(withinMs);
    return this.#closing;
  }

  async #closeAll(withinMs: number): Promise<void> {
    const untilAt = performance.now() + withinMs;
    const remainingMs = (): number => Math.max(0, untilAt - performance.now());
    for (let owned = this.#owned.pop(); owned !== undefined; owned = this.#owned.pop()) {
      if (!(await endsWithin(this.#close(owned), remainingMs()))) {
        this.#reportFailure(owned.what, new Error('it did not close in time'));
      }
    }
    await endsWithin(Promise.all(this.#opening), remainingMs());
  }

  async #close({ what, close }: Owned): Promise<void> {
    try {
      await close();
    } catch (error) {
      for (const one of errorsOf(error)) this.#reportFailure(what, one);
    }
  }

  #check(): void {
    if (this.#isClosing || this.#givenUp.aborted) throw new GivenUp();
  }

  /** @param onOpened called before any waiting caller continues */
  #wait<T>(opening: Promise<T>, onOpened: (opened: T) => Promise<void>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const giveUp = (): void => reject(new GivenUp());
    if (this.#givenUp.aborted) giveUp();
    this.#givenUp.addEventListener('abort', giveUp, { once: true });
    const ended: Promise<void> = opening
      .then((opened) => {
        const owned = onOpened(opened);
        resolve(opened);
        return owned;
      }, reject)
      .finally(() => {
        this.#givenUp.removeEventListener('abort', giveUp);
        this.#opening.delete(ended);
      });
    this.#opening.add(ended);
    return promise;
  }
}

/**
 * Whether a promise settles in time. If not, it continues by itself.
 * @throws the rejection within that time; a later rejection is ignored
 */
export async function endsWithin(ending: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  try {
    return await Promise.race([ending.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Each error of a stack that failed to close at several places. */
function errorsOf(error: unknown): readonly unknown[] {
  if (error instanceof SuppressedError) {
    return [...errorsOf(error.suppressed), ...errorsOf(error.error)];
  }
  return error instanceof AggregateError ? error.errors.flatMap(errorsOf) : [error];
}
