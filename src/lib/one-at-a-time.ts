/** Does what it is given one after the other, in the order in which it came. */
export class OneAtATime {
  #last: Promise<unknown> | null = null;

  /** @returns what `act` comes to; how the one before ended does not matter */
  do<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last === null ? act() : this.#last.then(act);
    const over: Promise<unknown> = Promise.allSettled([done]).finally(() => {
      if (this.#last === over) this.#last = null;
    });
    this.#last = over;
    return done;
  }
}
