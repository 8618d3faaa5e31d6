/** The instances that work on one database, seen by one of them, over its beats. */
import { steadyNow, type ClockReading, type SteadyTime } from '../../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../../lib/deadlines.ts';
import type { Instance, Peers } from '../../../cluster/peers.ts';
import { formerRows } from '../ledger/instance.ts';
import type { PostgresFlights } from '../deps.ts';
import type { Single } from '../write/writes.ts';
import { Beat, peersTimes, type PeersTimes } from './heartbeat.ts';
import { Board, readBoardRows } from './broadcast-log.ts';
import type { Joined } from './joining.ts';
import type { News } from './news.ts';
import { Posts } from './leases.ts';

export type { PeersTimes } from './heartbeat.ts';

/** The post of the one that puts away what nobody needs any more. */
export const keeperPost = 'keeper';
const tidyEveryMs = 60_000;

export type PeersParts = {
  readonly joined: Joined;
  readonly flights: PostgresFlights;
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
  readonly beat: Beat;
  /** Stops what runs at posts, and resolves whatever waits to be heard. The flights are not its. */
  close(): void;
};

/** Beats from now on, until it is closed or the flights break. */
export function createPeers({ joined, flights, ...others }: PeersParts): BeatingPeers {
  const { id, boardRead } = joined;
  const times = { ...peersTimes, ...others.times };
  const steady = others.steady ?? steadyNow;
  const { deadlines = createDeadlines(steady) } = others;
  const parts = { flights, id, boardRead, times, steady, deadlines };
  const beat = new Beat(parts);
  beat.onNews(({ serverNow: now, askedAt, landedAt: answeredAt }) => {
    others.follow?.({ now, askedAt, answeredAt });
  });
  const roll = new Roll(joined.alive);
  beat.onNews((news) => roll.hear(news));
  const posts = new Posts(beat, parts);
  const board = new Board(beat, parts, others.faulted ?? (() => {}));
  const tidied = new Tidying(steady);
  beat.bring(() => (posts.holds(keeperPost) ? tidied.writes() : []));
  return {
    id,
    instances: () => roll.instances,
    hold: (post, run, until) => posts.hold(post, run, until),
    holds: (post) => posts.holds(post),
    tell: (kind, body) => board.tell(kind, body),
    on: (kind, heard) => board.on(kind, heard),
    share: () => Math.max(1, roll.instances.length),
    onChange: (changed) => roll.onChange(changed),
    beat,
    close: () => beat.close(),
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
    this.instances = alive.map(({ id, version, beganAt, posts }) => {
      return { id, version, beganAt, posts };
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
    return [formerRows, readBoardRows].map((text) => ({ kind: 'single', text, values: [] }));
  }
}
