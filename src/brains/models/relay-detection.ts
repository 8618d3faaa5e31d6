/**
 * Detects whether a runtime relays a model's requests to a vendor. The state outlives a running
 * configuration: the next one begins with it.
 *
 *     unknown ──a probe shows that the runtime has it──▶ here ──a vendor appears──▶ away
 *        └──────────────────────a vendor appears─────────────────────────────────────▲
 *
 * `away` lasts until the process ends.
 *
 * A runtime may become a relay in the state `here`, and only its next answer shows that. So after a
 * pause one private call goes first. The others wait for its end, or for the first part of its
 * answer. They wait a minute at most, because a hanging call must not block them. After the minute,
 * each call probes the model before it goes.
 */
import type { ModelConfig } from '../../config/config.ts';
import { Cache } from '../../lib/cache.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';

/** For this time after a private answer, no call has to go first. */
const provenMs = 60_000;
/** The longest time that other calls wait for the first call. */
const firstCallWaitMs = 60_000;

/**
 * - `go`: send the call.
 * - `first`: send the call after a probe. All others wait until `over` is called.
 * - `wait`: enter again after `until`, which never rejects. From `endsAt` on, send the call after a
 *   probe.
 */
export type Entry =
  | { readonly kind: 'go' }
  | { readonly kind: 'first'; readonly over: () => void }
  | { readonly kind: 'wait'; readonly until: Promise<void>; readonly endsAt: SteadyTime };

export class RelayDetection {
  #state: 'unknown' | 'here' | 'away' = 'unknown';
  #answeredAt: SteadyTime | null = null;
  /** The first private call: its end, and the time until which others wait for it. */
  #first: { readonly until: Promise<void>; readonly endsAt: SteadyTime } | null = null;

  /** Decides how a private call may be sent. */
  enter(now: SteadyTime): Entry {
    if (this.#answeredAt !== null && now - this.#answeredAt < provenMs) return { kind: 'go' };
    if (this.#first !== null && now < this.#first.endsAt) return { kind: 'wait', ...this.#first };
    const { promise: until, resolve } = Promise.withResolvers<void>();
    const first = { until, endsAt: later(now, firstCallWaitMs) };
    this.#first = first;
    const over = (): void => {
      if (this.#first === first) this.#first = null;
      resolve();
    };
    return { kind: 'first', over };
  }

  /** Records the answer of a private call without a sign of a vendor. */
  answered(now: SteadyTime): void {
    this.#answeredAt = now;
  }

  get state(): 'unknown' | 'here' | 'away' {
    return this.#state;
  }

  markHere(): void {
    if (this.#state === 'unknown') this.#state = 'here';
  }

  markAway(): void {
    this.#state = 'away';
  }
}

/** A limit, because dry runs bring models of their own. A forgotten model is probed again. */
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
