/** Until when each kind of what may be left out is not asked of a platform that wants a pause. */
import { later, type SteadyTime } from '../../lib/clock.ts';

export class Holds<Kind extends string> {
  readonly #steady: () => SteadyTime;
  readonly #until = new Map<Kind, SteadyTime>();

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  hold(kind: Kind, ms: number): void {
    const until = later(this.#steady(), ms);
    if (until > (this.#until.get(kind) ?? 0)) this.#until.set(kind, until);
  }

  holds(kind: Kind): boolean {
    return this.msOf(kind) > 0;
  }

  /** How much longer; 0: it is not held. */
  msOf(kind: Kind): number {
    const until = this.#until.get(kind);
    return until === undefined ? 0 : Math.max(0, until - this.#steady());
  }
}
