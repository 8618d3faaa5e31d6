/** The instances that work on one database, seen by one of them, over its beats. */
import { steadyNow, type ClockReading, type SteadyTime } from '../../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../../lib/deadlines.ts';
import type { Instance, Peers } from '../../../cluster/peers.ts';
import {
  formerRows,
  beganColumn,
  epochMs,
  hasEnded,
  isGone,
  lockKey,
  othersColumns,
  untilFree,
  type Attempt,
  type Heartbeats,
  type Locked,
  type Other,
  type TakingDeps,
} from '../ledger/instance.ts';
import type { PostgresBatches } from '../deps.ts';
import type { Single } from '../write/writes.ts';
import { Heartbeat, peersTimes, type PeersTimes } from './heartbeat.ts';
import { BroadcastLog, readBroadcastLogRows, Leases } from './broadcast-log.ts';
import type { News } from './news.ts';
import type { Client } from 'pg';
import { codeOf } from '../server/errors.ts';

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

// How a start begins to work beside other instances, or learns that one of the release before,
// which knows no others, has the database alone.

/** A place among the instances. */
export type Joined = {
  readonly id: number;
  /** The living ones just then, this one too, without their posts. */
  readonly alive: readonly Instance[];
  /** What was told before is known to whoever reads the database from now on. */
  readonly broadcastLogRead: number;
};

export type Joining = (Joined & { readonly kind: 'joined' }) | Locked;

type Own = {
  readonly id: number;
  readonly read: number;
  readonly beganAt: number;
  readonly now: number;
};

type Row = Other & { readonly beside: boolean };

export type JoiningDeps = TakingDeps & {
  readonly now: () => number;
  /** Is told what the server's clock shows, as soon as it has begun. */
  readonly follow?: ((reading: ClockReading) => void) | undefined;
  /** For how long a lock is waited for; 15 s where it is left out. */
  readonly lockMs?: number;
};

/** While a command moves what is in the database, its tables are locked. */
const lockedState = '55P03';
/** Longer than a flight of an instance that is gone can hold its row. */
const lockMsUsual = 15_000;

/**
 * Who had the database alone worked all lanes, and wrote into none that it did. The newest of them
 * gets those in which something lies, and had taken over what was worked before it. From then on it
 * is dead like any other, and its lanes are made free as theirs are.
 */
const nowKnown = 'UPDATE svc.instance SET beside = true WHERE dead AND NOT beside RETURNING id';
const giveQueues = `
UPDATE svc.lane AS lane SET owner = $1 FROM (
  SELECT channel, conversation FROM svc.inbox UNION SELECT channel, conversation FROM svc.outbox
) AS one
WHERE lane.channel = one.channel AND lane.conversation = one.conversation
  AND (lane.owner IS NULL OR lane.owner < $1)`;

/**
 * Instances beside which it can work are left as they are, but for those whose process was on this
 * machine and is plainly gone: they are dead from now on. One that has the database alone is in the
 * way while it lives; it is watched until it beats, or is dead.
 * @param client in no transaction
 * @throws what the server says, or the reason of the signal
 */
export async function joinInstances(client: Client, deps: JoiningDeps): Promise<Joining> {
  try {
    const joined = await untilFree(deps, (still) => tryToJoin(client, deps, still));
    return 'kind' in joined ? joined : { kind: 'joined', ...joined.got };
  } catch (error) {
    if (codeOf(error) !== lockedState) throw error;
    return { kind: 'locked', since: new Date(deps.now()), version: null, process: null };
  }
}

async function tryToJoin(
  client: Client,
  { version, self, lockMs = lockMsUsual, steady = steadyNow, follow }: JoiningDeps,
  still: Heartbeats,
): Promise<Attempt<Joined>> {
  // What another start did while this one waited for the lock must be seen.
  await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockMs}`);
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
    const { rows } = await client.query<Row>(
      `SELECT ${othersColumns}, beside FROM svc.instance WHERE NOT dead ORDER BY id`,
    );
    const inTheWay = rows.find((other) => !other.beside && !hasEnded(other, still, self));
    if (inTheWay !== undefined) return { inTheWay };
    const gone = rows.filter(({ beside, process }) => !beside || isGone(process, self));
    // Waits for a flight of theirs that is under way.
    await client.query('UPDATE svc.instance SET dead = true WHERE id = ANY($1)', [
      gone.map(({ id }) => id),
    ]);
    const { rows: former } = await client.query<{ id: number }>(nowKnown);
    if (former.length > 0) {
      await client.query(giveQueues, [Math.max(...former.map(({ id }) => id))]);
    }
    const askedAt = steady();
    const { rows: own } = await client.query<Own>(
      'INSERT INTO svc.instance (version, process, beside, board_read) ' +
        'SELECT $1, $2, true, coalesce(max(n), 0) FROM svc.board ' +
        `RETURNING id, board_read AS read, ${beganColumn}, ${epochMs('clock_timestamp()')} AS now`,
      [version, JSON.stringify(self)],
    );
    const { id, read, beganAt, now } = own[0]!;
    follow?.({ now, askedAt, answeredAt: steady() });
    await client.query(formerRows);
    await client.query(readBroadcastLogRows);
    const alive = [...rows.filter((row) => !gone.includes(row)), { id, version, beganAt }];
    return { got: { id, broadcastLogRead: read, alive: alive.map(instanceOf) } };
  } finally {
    await client.query('COMMIT');
  }
}

function instanceOf({ id, version, beganAt }: Pick<Row, 'id' | 'version' | 'beganAt'>): Instance {
  return { id, version, beganAt, posts: [] };
}
