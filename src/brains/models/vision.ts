/** Whether a model has vision. */
import { hourMs } from '../../lib/durations.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Vision } from './model.ts';

/** For so long after a refused picture, the model counts as having no vision. */
const refusedMs = hourMs;

/** A silent provider is asked again after this time; most never report vision, and turns wait. */
const silentMs = 600_000;

/**
 * Whether a model has vision: as configured, or as the provider reports it.
 *
 * - A report is remembered.
 * - Without a report the model has no vision, and the provider is asked again after a while.
 * - An unreachable provider is asked again the next time.
 * - A refused picture counts more than all of these.
 */
export class Sight {
  readonly #declared: boolean | null;
  readonly #steady: () => SteadyTime;
  #reported: boolean | null = null;
  #asking: Promise<Vision | null> | null = null;
  #silentUntil: SteadyTime | null = null;
  #refusedUntil: SteadyTime | null = null;

  /** @param declared the configured value; null: as the provider reports it */
  constructor(declared: boolean | null, steady: () => SteadyTime) {
    this.#declared = declared;
    this.#steady = steady;
  }

  /** @param ask asks the provider; its result is null without a report. It never rejects */
  async sees(ask: () => Promise<Vision | null>): Promise<Vision> {
    if (this.#isBefore(this.#refusedUntil)) return false;
    if (this.#declared !== null) return this.#declared;
    if (this.#reported !== null) return this.#reported;
    if (this.#isBefore(this.#silentUntil)) return false;
    this.#asking ??= ask().finally(() => (this.#asking = null));
    const reported = await this.#asking;
    if (reported === null) this.#silentUntil = later(this.#steady(), silentMs);
    else if (reported !== 'unreached') this.#reported = reported;
    return reported ?? false;
  }

  refused(): void {
    this.#refusedUntil = later(this.#steady(), refusedMs);
  }

  #isBefore(time: SteadyTime | null): boolean {
    return time !== null && this.#steady() < time;
  }
}
