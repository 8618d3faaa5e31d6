import { later, type SteadyTime } from '../lib/clock.ts';
import type { Sees } from './model.ts';

/** After a provider has refused a picture, its model is taken for blind for so long. */
const refusedMs = 3_600_000;

/**
 * Whether a model sees pictures: as declared, or as its provider says once it is asked. An answer
 * is remembered; where there is none, the model is taken for blind and the provider asked again the
 * next time. What a provider refuses counts for more than either.
 */
export class Sight {
  readonly #declared: boolean | null;
  readonly #steady: () => SteadyTime;
  #told: boolean | null = null;
  #asking: Promise<Sees | null> | null = null;
  #refusedUntil: SteadyTime | null = null;

  /** @param declared null: as its provider says */
  constructor(declared: boolean | null, steady: () => SteadyTime) {
    this.#declared = declared;
    this.#steady = steady;
  }

  /** @param ask the provider; null: it does not say. Never rejects */
  async sees(ask: () => Promise<Sees | null>): Promise<Sees> {
    if (this.#refusedUntil !== null && this.#steady() < this.#refusedUntil) return false;
    if (this.#declared !== null) return this.#declared;
    if (this.#told !== null) return this.#told;
    this.#asking ??= ask().finally(() => (this.#asking = null));
    const told = await this.#asking;
    if (typeof told === 'boolean') this.#told = told;
    return told ?? false;
  }

  refused(): void {
    this.#refusedUntil = later(this.#steady(), refusedMs);
  }
}
