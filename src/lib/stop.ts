/**
 * A signal to stop, for claims, calls and other objects that exist by the thousand per second. An
 * AbortController with its signal costs several microseconds, and few of them are ever used. For a
 * library or a system call that wants a real signal, the first use makes one.
 */
export interface Stop {
  readonly stopped: boolean;
  /**
   * Calls the listener once, when stopped. As with an AbortSignal, a listener that is added later
   * is not called.
   * @param listener never throws, and is registered once at a time
   */
  listen(listener: () => void): void;
  unlisten(listener: () => void): void;
  /** A real signal, made at first use. */
  readonly signal: AbortSignal;
}

/** The owner's side: it stops the listeners. */
export class Stopper implements Stop {
  stopped = false;
  #reason: unknown;
  #listeners: (() => void)[] | null = null;
  #controller: AbortController | null = null;

  /** Calls the listeners in their order. A second call does nothing. */
  stop(reason?: unknown): void {
    if (this.stopped) return;
    this.stopped = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    // Takes one listener at a time off the list, so that a removed listener is not called.
    for (let next = this.#listeners?.shift(); next !== undefined; next = this.#listeners?.shift()) {
      next();
    }
    this.#listeners = null;
  }

  listen(listener: () => void): void {
    if (!this.stopped) (this.#listeners ??= []).push(listener);
  }

  unlisten(listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners!.splice(at, 1);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.stopped) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}

/** A stop that follows a real signal. */
export function stopOf(signal: AbortSignal): Stop {
  return {
    get stopped() {
      return signal.aborted;
    },
    listen: (listener) => signal.addEventListener('abort', listener, { once: true }),
    unlisten: (listener) => signal.removeEventListener('abort', listener),
    signal,
  };
}

/** @returns null: the stop came first */
export function unlessStopped<T>(awaited: Promise<T>, stop: Stop): Promise<T | null> {
  const stopped = Promise.withResolvers<null>();
  const leave = (): void => stopped.resolve(null);
  if (stop.stopped) leave();
  stop.listen(leave);
  const first = Promise.race([awaited, stopped.promise]);
  return first.finally(() => stop.unlisten(leave));
}

/** Calls `act` with its own stop. That one stops with `outer`, or after this many milliseconds. */
export async function stoppedAfter<T>(
  ms: number,
  outer: Stop,
  act: (stop: Stop) => Promise<T>,
): Promise<T> {
  const stop = new Stopper();
  const halt = (): void => stop.stop();
  const timer = setTimeout(halt, Math.max(0, ms));
  outer.listen(halt);
  if (outer.stopped) halt();
  try {
    return await act(stop);
  } finally {
    clearTimeout(timer);
    outer.unlisten(halt);
  }
}

/** Resolves once the signal has aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
