/** Runs functions one after the other, in the order of the calls. */
export class OneAtATime {
  #last: Promise<unknown> | null = null;

  /** @returns the result of `act`, however the call before it ended */
  do<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last === null ? act() : this.#last.then(act);
    const over: Promise<unknown> = Promise.allSettled([done]).finally(() => {
      if (this.#last === over) this.#last = null;
    });
    this.#last = over;
    return done;
  }
}
