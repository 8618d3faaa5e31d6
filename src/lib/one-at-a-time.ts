/** Runs what it is given one after the other, in the order of the calls. */
export class OneAtATime {
  #last: Promise<unknown> | null = null;

  /** @returns the result of `act`; how the one before ended does not matter */
  do<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last === null ? act() : this.#last.then(act);
    const over: Promise<unknown> = Promise.allSettled([done]).finally(() => {
      if (this.#last === over) this.#last = null;
    });
    this.#last = over;
    return done;
  }
}
