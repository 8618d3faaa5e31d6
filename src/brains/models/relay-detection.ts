/**
 * Whether a runtime relays a model's requests to a vendor, as far as svc knows. The state outlives
 * a configuration: the next one begins with it.
 *
 *     unknown ──a look shows that the runtime has it──▶ here ──a vendor shows──▶ away
 *        └──────────────────────a vendor shows──────────────────────────────────▲
 *
 * `away` lasts until the process ends.
 *
 * A runtime may become a relay while its state is `here`, and only its next answer shows that. So
 * after a pause one private call goes first. The others wait for its end, or for the first piece of
 * its answer, for a minute at most: a call that hangs must not hold up the others. After the minute
 * each call asks the runtime about the model before it goes.
 */
import type { ModelConfig } from '../../config/config.ts';
import { Cache } from '../../lib/cache.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';

/** For this time after a private answer no call has to go first. */
const provenMs = 60_000;
/** The longest time that the others wait for the call that goes first. */
const heldMs = 60_000;

/**
 * `go`: send the call. `first`: send it after a look; all others wait until `over` is called.
 * `wait`: ask again after `until`, which never rejects; from `endsAt` on send the call after a
 * look.
 */
export type Entry =
  | { readonly kind: 'go' }
  | { readonly kind: 'first'; readonly over: () => void }
  | { readonly kind: 'wait'; readonly until: Promise<void>; readonly endsAt: SteadyTime };

export class RelayDetection {
  #state: 'unknown' | 'here' | 'away' = 'unknown';
  #answeredAt: SteadyTime | null = null;
  /** The private call that goes first: its end, and until when it is waited for. */
  #first: { readonly until: Promise<void>; readonly endsAt: SteadyTime } | null = null;

  /** For a private call that is about to be sent. */
  enter(now: SteadyTime): Entry {
    if (this.#answeredAt !== null && now - this.#answeredAt < provenMs) return { kind: 'go' };
    if (this.#first !== null && now < this.#first.endsAt) return { kind: 'wait', ...this.#first };
    const { promise: until, resolve } = Promise.withResolvers<void>();
    const first = { until, endsAt: later(now, heldMs) };
    this.#first = first;
    const over = (): void => {
      if (this.#first === first) this.#first = null;
      resolve();
    };
    return { kind: 'first', over };
  }

  /** A private call was answered, and nothing in the answer shows a vendor. */
  answered(now: SteadyTime): void {
    this.#answeredAt = now;
  }

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

/** A bound, because trials bring models of their own. svc looks at a forgotten model again. */
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
