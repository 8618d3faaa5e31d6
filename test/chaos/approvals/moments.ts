/** Moments at which a strike hits a process, as an observer outside sees them. */

/**
 * `asked`: a question has just arrived. `decided`: svc has just confirmed a decision. `running`:
 * the call has arrived. `ran`: it was answered. `told`: its result has arrived. `model`: svc called
 * a model. `any`: none of them.
 */
export const moments = ['asked', 'decided', 'running', 'ran', 'told', 'model', 'any'] as const;

export type Moment = (typeof moments)[number];

export class Moments {
  readonly #waiting = new Map<Moment, (() => void)[]>();

  note(moment: Moment): void {
    for (const wake of this.#waiting.get(moment) ?? []) wake();
    this.#waiting.delete(moment);
  }

  /** Resolves the next time that this moment comes. */
  next(moment: Moment): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(moment, [...(this.#waiting.get(moment) ?? []), resolve]);
    return promise;
  }
}
