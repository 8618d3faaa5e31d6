/**
 * The bounds of calls to models, which outlast plans: a call that an old plan has in flight counts
 * against the bound of the new plan. The same model at the same address with the same key has one
 * bound, in however many brains it is listed. Its limit is the lowest that the newest plan names,
 * of which each instance on the ledger has its part.
 */
import type { ModelConfig } from '../../config/config.ts';
import { Cache } from '../../lib/cache.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import { ConcurrencyLimit, type Load } from './concurrency-limit.ts';

/** Plans that were refused leave bounds behind; bounds in use are asked for with every plan. */
const boundsMax = 40_000;

export class CallBounds {
  /** By provider; every bounded call is counted in its provider's load. */
  readonly loads = new Map<string, Load>();
  readonly #kept = new Cache<string, ConcurrencyLimit>(boundsMax);

  /** A new bound has the limit of this config; a known bound keeps its own until `hold`. */
  of(config: ModelConfig, deadlines: Deadlines): ConcurrencyLimit {
    const { provider, inFlightMax } = config;
    const key = keyOf(config);
    const load = this.loads.get(provider) ?? { inFlight: 0, waiting: 0 };
    this.loads.set(provider, load);
    const bound = this.#kept.get(key) ?? new ConcurrencyLimit(inFlightMax, deadlines, load);
    this.#kept.put(key, bound, 1);
    return bound;
  }

  /**
   * @param models of the plan that is in use from now on
   * @param share how many instances share their limits; each may make one call at least
   */
  hold(models: readonly ModelConfig[], share = 1): void {
    const limits = new Map<string, number>();
    for (const config of models) {
      const key = keyOf(config);
      limits.set(key, Math.min(config.inFlightMax, limits.get(key) ?? Infinity));
    }
    for (const [key, limit] of limits) {
      this.#kept.get(key)?.limitTo(Math.max(1, Math.floor(limit / share)));
    }
  }
}

function keyOf({ provider, baseUrl, modelId, apiKeyEnv }: ModelConfig): string {
  return JSON.stringify([provider, baseUrl, modelId, apiKeyEnv]);
}
