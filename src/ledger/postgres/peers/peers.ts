/** The instances that work on one database, seen by one of them, over its beats. */
import { steadyNow, type ClockReading, type SteadyTime } from '../../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../../lib/deadlines.ts';
import type { Instance, Peers } from '../../../cluster/peers.ts';
import { formerRows } from '../ledger/instance.ts';
import type { PostgresBatches } from '../deps.ts';
import type { Single } from '../write/writes.ts';
import { Heartbeat, peersTimes, type PeersTimes } from './heartbeat.ts';
import { BroadcastLog, readBroadcastLogRows } from './broadcast-log.ts';
import type { Joined } from './joining.ts';
import type { News } from './news.ts';
import { Leases } from './leases.ts';

export type { PeersTimes } from './heartbeat.ts';

/** The post of the one that puts away what nobody needs any more. */
export const janitorLease = 'keeper';
const tidyEveryMs = 60_000;

export type PeersDeps = {
  readonly joined: Joined;
  readonly batches: PostgresBatches;
  readonly times?: Partial<PeersTimes>;
  /** Left out: this machine's. */
  readonly steady?: () => SteadyTime;
  /** By that clock; left out: of its own. */
  readonly deadlines?: Deadlines;
  /** Is told with each beat what the server's clock shows. */
  readonly follow?: ((reading: ClockReading) => void) | undefined;
  /** Is told of listeners that throw, which they must not. */
  readonly faulted?: (error: unknown) => void;
};

export type BeatingPeers = Peers & {
  readonly heartbeat: Heartbeat;
  /** Stops what runs at posts, and resolves whatever waits to be heard. The flights are not its. */
  close(): void;
};

/** Beats from now on, until it is closed or the flights break. */
export function createPeers({ joined, batches, ...others }: PeersDeps): BeatingPeers {
  const { id, broadcastLogRead } = joined;
  const times = { ...peersTimes, ...others.times };
  const steady = others.steady ?? steadyNow;
  const { deadlines = createDeadlines(steady) } = others;
  const deps = { batches, id, broadcastLogRead, times, steady, deadlines };
  const heartbeat = new Heartbeat(deps);
  heartbeat.onNews(({ serverNow: now, askedAt, landedAt: answeredAt }) => {
    others.follow?.({ now, askedAt, answeredAt });
  });
  const roll = new Roll(joined.alive);
  heartbeat.onNews((news) => roll.hear(news));
  const leases = new Leases(heartbeat, deps);
  const broadcastLog = new BroadcastLog(heartbeat, deps, others.faulted ?? (() => {}));
  const tidied = new Tidying(steady);
  heartbeat.bring(() => (leases.holds(janitorLease) ? tidied.writes() : []));
  return {
    id,
    instances: () => roll.instances,
    hold: (lease, run, until) => leases.hold(lease, run, until),
    holds: (lease) => leases.holds(lease),
    tell: (kind, body) => broadcastLog.tell(kind, body),
    on: (kind, heard) => broadcastLog.on(kind, heard),
    share: () => Math.max(1, roll.instances.length),
    onChange: (changed) => roll.onChange(changed),
    heartbeat,
    close: () => heartbeat.close(),
  };
}

/** Who lives, by the last beat. */
class Roll {
  instances: readonly Instance[];
  readonly #changed = new Set<() => void>();

  constructor(instances: readonly Instance[]) {
    this.instances = instances;
  }

  hear({ alive }: News): void {
    const before = JSON.stringify(this.instances);
    this.instances = alive.map(({ id, version, beganAt, posts: leases }) => {
      return { id, version, beganAt, posts: leases };
    });
    if (JSON.stringify(this.instances) === before) return;
    for (const changed of this.#changed) changed();
  }

  onChange(changed: () => void): () => void {
    const own = (): void => changed();
    this.#changed.add(own);
    return () => void this.#changed.delete(own);
  }
}

/** Now and then; rows that are locked or needed are left. */
class Tidying {
  readonly #steady: () => SteadyTime;
  #at: SteadyTime;

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
    this.#at = steady();
  }

  writes(): readonly Single[] {
    if (this.#steady() - this.#at < tidyEveryMs) return [];
    this.#at = this.#steady();
    return [formerRows, readBroadcastLogRows].map((text) => ({ kind: 'single', text, values: [] }));
  }
}
