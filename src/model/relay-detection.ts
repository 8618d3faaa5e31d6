/**
 * Whether a runtime hands a model's requests on to a vendor, as far as that is known. It outlasts
 * plans: what one of them learnt, the next one knows before it asks anything.
 *
 *     unknown ──a look shows that the runtime has it──▶ here ──a vendor shows──▶ away
 *        └──────────────────────a vendor shows──────────────────────────────────▲
 *
 * Nothing takes `away` back while the process lives.
 *
 * A runtime may become a relay while it is `here`, and only its next answer shows that. So after a
 * pause one private call goes first, and the others wait for its end, or for the first piece of its
 * answer. They wait for a minute at
 * most, since a call that hangs is to hold up no other; then each looks at the model by itself.
 */
import type { ModelConfig } from '../config/config.ts';
import { Cache } from '../lib/cache.ts';
import { later, type SteadyTime } from '../lib/clock.ts';

/** What a private answer shows of the runtime holds for so long. */
const provenMs = 60_000;
/** So long the others wait for the call that goes first. */
const heldMs = 60_000;

/**
 * `go`: the call may be sent. `first`: it may be sent after a look, and no other is until `over` is
 * called. `wait`: ask again after `until`, which never rejects; once it is `endsAt` the call may be
 * sent after a look.
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
