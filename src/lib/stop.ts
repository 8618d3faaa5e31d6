/**
 * The word to stop, for a claim, a call or another thing that there are thousands of a second: an
 * AbortController with its signal costs several microseconds, and few of them are ever used. Where
 * a library or a system call wants a real signal there is one at first use.
 */
export interface Stop {
  readonly stopped: boolean;
  /**
   * Calls once when stopped; returns nothing. As with an AbortSignal, who listens afterwards is not
   * called.
   * @param heard never throws, and listens once at a time
   */
  listen(heard: () => void): void;
  unlisten(heard: () => void): void;
  /** A real one, made at first use. */
  readonly signal: AbortSignal;
}

/** Whoever has it may stop what others listen for. */
export class Stopper implements Stop {
  stopped = false;
  #reason: unknown;
  #heard: (() => void)[] | null = null;
  #controller: AbortController | null = null;

  /** Calls those who listen, in their order; a second time it does nothing. */
  stop(reason?: unknown): void {
    if (this.stopped) return;
    this.stopped = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    // One at a time off the list: who leaves meanwhile is not called.
    for (let heard = this.#heard?.shift(); heard !== undefined; heard = this.#heard?.shift()) {
      heard();
    }
    this.#heard = null;
  }

  listen(heard: () => void): void {
    if (!this.stopped) (this.#heard ??= []).push(heard);
  }

  unlisten(heard: () => void): void {
    const at = this.#heard?.indexOf(heard) ?? -1;
    if (at >= 0) this.#heard!.splice(at, 1);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.stopped) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}

/** What a real signal says. */
export function stopOf(signal: AbortSignal): Stop {
  return {
    get stopped() {
      return signal.aborted;
    },
    listen: (heard) => signal.addEventListener('abort', heard, { once: true }),
    unlisten: (heard) => signal.removeEventListener('abort', heard),
    signal,
  };
}

/** @returns null when the stop comes first */
export function unlessStopped<T>(awaited: Promise<T>, stop: Stop): Promise<T | null> {
  const stopped = Promise.withResolvers<null>();
  const leave = (): void => stopped.resolve(null);
  if (stop.stopped) leave();
  stop.listen(leave);
  const first = Promise.race([awaited, stopped.promise]);
  return first.finally(() => stop.unlisten(leave));
}

/**
 * Calls `act` with a stop of its own, which is said with `outer`, and after so many milliseconds.
 */
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

/** Resolves once that signal has aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
