import type { ChannelState } from '../domain/event.ts';
import type { ChannelHealth } from './channel.ts';

/** How a channel stands, and since when: it begins as `starting`. */
export class Standing {
  readonly #now: () => number;
  readonly #changed: (state: ChannelState, reason: string | null) => void;
  #health: ChannelHealth;

  /**
   * @param now milliseconds since 1970
   * @param changed told of each change of the state or of its reason
   */
  constructor(
    now: () => number,
    changed: (state: ChannelState, reason: string | null) => void = () => {},
  ) {
    this.#now = now;
    this.#changed = changed;
    this.#health = { state: 'starting', since: now(), reason: null, lastSeenAt: null };
  }

  get health(): ChannelHealth {
    return this.#health;
  }

  /** `since` moves with the state alone: a new reason is the same trouble. */
  become(state: ChannelState, reason: string | null = null): void {
    const before = this.#health;
    if (before.state === state && before.reason === reason) return;
    const since = before.state === state ? before.since : this.#now();
    this.#health = { ...before, state, since, reason };
    this.#changed(state, reason);
  }

  /** The platform was heard of. */
  seen(): void {
    this.#health = { ...this.#health, lastSeenAt: this.#now() };
  }
}
