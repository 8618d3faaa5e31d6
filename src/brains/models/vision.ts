import { hourMs } from '../../lib/durations.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Sees } from './model.ts';

/** After a provider has refused a picture, its model is taken for blind for so long. */
const refusedMs = hourMs;

/** So long a provider that does not say is not asked again: most never will, and a turn waits. */
const silentMs = 600_000;

/**
 * Whether a model sees pictures: as declared, or as its provider says once it is asked. An answer
 * is remembered. A provider that does not say has a blind model, and is asked again after a while;
 * one that is not reached is asked again the next time. What a provider refuses counts for more
 * than all of these.
 */
export class Sight {
  readonly #declared: boolean | null;
  readonly #steady: () => SteadyTime;
  #told: boolean | null = null;
  #asking: Promise<Sees | null> | null = null;
  #silentUntil: SteadyTime | null = null;
  #refusedUntil: SteadyTime | null = null;

  /** @param declared null: as its provider says */
  constructor(declared: boolean | null, steady: () => SteadyTime) {
    this.#declared = declared;
    this.#steady = steady;
  }

  /** @param ask the provider; null: it does not say. Never rejects */
  async sees(ask: () => Promise<Sees | null>): Promise<Sees> {
    if (this.#isBefore(this.#refusedUntil)) return false;
    if (this.#declared !== null) return this.#declared;
    if (this.#told !== null) return this.#told;
    if (this.#isBefore(this.#silentUntil)) return false;
    this.#asking ??= ask().finally(() => (this.#asking = null));
    const told = await this.#asking;
    if (told === null) this.#silentUntil = later(this.#steady(), silentMs);
    else if (told !== 'unreached') this.#told = told;
    return told ?? false;
  }

  refused(): void {
    this.#refusedUntil = later(this.#steady(), refusedMs);
  }

  #isBefore(time: SteadyTime | null): boolean {
    return time !== null && this.#steady() < time;
  }
}
