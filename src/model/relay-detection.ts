/**
 * Whether a runtime hands a model's requests on to a vendor, as far as that is known. It outlasts
 * plans: what one of them learnt, the next one knows before it asks anything.
 *
 *     unknown ──a look shows that the runtime has it──▶ here ──a vendor shows──▶ away
 *        └──────────────────────a vendor shows──────────────────────────────────▲
 *
 * Nothing takes `away` back while the process lives.
 */
import type { ModelConfig } from '../config/config.ts';
import { Cache } from '../lib/cache.ts';

export class RelayDetection {
  #state: 'unknown' | 'here' | 'away' = 'unknown';

  get state(): 'unknown' | 'here' | 'away' {
    return this.#state;
  }

  shownHere(): void {
    if (this.#state === 'unknown') this.#state = 'here';
  }

  shownAway(): void {
    this.#state = 'away';
  }
}

/** Trials bring models of their own, without end; a forgotten model is looked at again. */
const modelsMax = 40_000;

export class RelayDetections {
  readonly #known = new Cache<string, RelayDetection>(modelsMax);

  of({ provider, baseUrl, modelId }: ModelConfig): RelayDetection {
    const key = JSON.stringify([provider, baseUrl, modelId]);
    const known = this.#known.get(key) ?? new RelayDetection();
    this.#known.put(key, known, 1);
    return known;
  }
}
