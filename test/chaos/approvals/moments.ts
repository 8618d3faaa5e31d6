/** When a process is to be struck, as it is seen from outside of it. */

/**
 * `asked`: a question has just arrived. `decided`: somebody was just told that it is decided.
 * `running`: the call has arrived. `ran`: it was answered. `told`: what became of it has arrived.
 * `model`: a model was asked. `any`: none of them.
 */
export const moments = ['asked', 'decided', 'running', 'ran', 'told', 'model', 'any'] as const;

export type Moment = (typeof moments)[number];

export class Moments {
  readonly #waiting = new Map<Moment, (() => void)[]>();

  note(moment: Moment): void {
    for (const wake of this.#waiting.get(moment) ?? []) wake();
    this.#waiting.delete(moment);
  }

  /** Resolves when it is that moment for the next time. */
  next(moment: Moment): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(moment, [...(this.#waiting.get(moment) ?? []), resolve]);
    return promise;
  }
}
