/** Instances on one ledger, all in this process, with their leases and broadcasts. */
import { createAlone, Listeners } from '../../src/cluster/alone.ts';
import type { Instance, Peers } from '../../src/cluster/backend.ts';

type Seat = { readonly began: Omit<Instance, 'posts'>; readonly ears: Listeners };

/** Of one instance. */
export function peersAlone(): Peers {
  return { ...createAlone(), id: 0, instances: () => [] };
}

export class FakePeers {
  readonly #seats = new Map<number, Seat>();
  readonly #posts = new Map<string, number>();
  readonly #changes = new Set<() => void>();
  /** The broadcasts, oldest first. */
  readonly told: { readonly kind: string; readonly body: string }[] = [];

  /** Adds an instance. @returns its view of the others */
  join(id: number, { version = '1.2.3', beganAt = 900_000 } = {}): Peers {
    const ears = new Listeners();
    this.#seats.set(id, { began: { id, version, beganAt }, ears });
    this.#changed();
    return {
      id,
      instances: () => this.#instances(),
      withLease: (post, run, until) => this.#hold(id, post, run, until),
      holds: (post) => this.#posts.get(post) === id,
      broadcast: async (kind, body) => {
        this.told.push({ kind, body });
        await Promise.all([...this.#seats.values()].map((seat) => seat.ears.notify(kind, body)));
      },
      onBroadcast: (kind, heard) => ears.on(kind, heard),
      limitShare: () => Math.max(1, this.#seats.size),
      onChange: (changed) => {
        this.#changes.add(changed);
        return () => void this.#changes.delete(changed);
      },
    };
  }

  /** Declares it dead, without any lease. */
  leave(id: number): void {
    this.#seats.delete(id);
    for (const [post, owner] of this.#posts) if (owner === id) this.#posts.delete(post);
    this.#changed();
  }

  /** Gives a lease to one of them. */
  give(post: string, id: number): void {
    this.#posts.set(post, id);
    this.#changed();
  }

  #changed(): void {
    for (const changed of this.#changes) changed();
  }

  #instances(): readonly Instance[] {
    return [...this.#seats.values()]
      .map(({ began }) => ({
        ...began,
        posts: [...this.#posts].flatMap(([post, owner]) => (owner === began.id ? [post] : [])),
      }))
      .toSorted((one, other) => one.id - other.id);
  }

  async #hold(
    id: number,
    post: string,
    run: (stop: AbortSignal) => Promise<void>,
    until: AbortSignal,
  ): Promise<void> {
    while (!until.aborted && (this.#posts.get(post) ?? id) !== id) {
      await new Promise(setImmediate);
    }
    if (until.aborted) return;
    this.give(post, id);
    try {
      await run(until);
    } finally {
      if (this.#posts.get(post) === id) this.#posts.delete(post);
      this.#changed();
    }
  }
}
