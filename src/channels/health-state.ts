import type { ChannelState } from '../domain/event.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import type { ChannelHealth } from './channel.ts';

/** How a channel stands, and since when: it begins as `starting`. */
export class HealthState {
  readonly #clock: Clock;
  readonly #changed: (state: ChannelState, reason: string | null) => void;
  readonly #heard: () => void;
  #health: ChannelHealth;
  /** When the platform was last heard of; before that, when the state began. */
  #heardAt: SteadyTime;

  /**
   * @param changed told of each change of the state or of its reason
   * @param heard told each time that the platform is heard of
   */
  constructor(
    clock: Clock,
    changed: (state: ChannelState, reason: string | null) => void = () => {},
    heard = (): void => {},
  ) {
    this.#clock = clock;
    this.#changed = changed;
    this.#heard = heard;
    this.#health = { state: 'starting', since: clock.now(), reason: null, lastSeenAt: null };
    this.#heardAt = clock.steady();
  }

  get health(): ChannelHealth {
    return this.#health;
  }

  /** For how many milliseconds the platform was not heard of. */
  get silentMs(): number {
    return this.#clock.steady() - this.#heardAt;
  }

  /**
   * `since` moves with the state alone: a new reason is the same trouble.
   * @param begunMs how long ago it began, where that was found out only now
   */
  become(state: ChannelState, reason: string | null = null, begunMs = 0): void {
    const before = this.#health;
    if (before.state === state && before.reason === reason) return;
    const since = before.state === state ? before.since : this.#clock.now() - Math.round(begunMs);
    if (before.state !== state && before.lastSeenAt === null) this.#heardAt = this.#clock.steady();
    this.#health = { ...before, state, since, reason };
    this.#changed(state, reason);
  }

  /** The platform was heard of. */
  seen(): void {
    this.#health = { ...this.#health, lastSeenAt: this.#clock.now() };
    this.#heardAt = this.#clock.steady();
    this.#heard();
  }
}
