/**
 * `Peers` over PostgreSQL: the instances on one database, as one of them sees them by its
 * heartbeats. It also has how a starting instance joins the others.
 */
import { steadyNow, type ClockReading, type SteadyTime } from '../../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../../lib/deadlines.ts';
import { janitorLease } from '../../../cluster/cluster.ts';
import type { Instance, Peers } from '../../../cluster/backend.ts';
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

const cleanupEveryMs = 60_000;

export type PeersDeps = {
  readonly joined: Joined;
  readonly batches: PostgresBatches;
  readonly times?: Partial<PeersTimes>;
  /** Left out: this machine's clock. */
  readonly steady?: () => SteadyTime;
  /** By the clock `steady`; left out: deadlines of its own. */
  readonly deadlines?: Deadlines;
  /** Called with each heartbeat: the reading of the server's clock. */
  readonly follow?: ((reading: ClockReading) => void) | undefined;
  /** Called with the error of a listener, which must not throw. */
  readonly faulted?: (error: unknown) => void;
};

export type PeersWithHeartbeat = Peers & {
  readonly heartbeat: Heartbeat;
  /**
   * Stops the runs that have leases, and resolves the broadcasts that still wait. The caller closes
   * the batches itself.
   */
  close(): void;
};

/** Sends heartbeats from now on, until it is closed or the batches break. */
export function createPeers({ joined, batches, ...others }: PeersDeps): PeersWithHeartbeat {
  const { id, broadcastLogRead } = joined;
  const times = { ...peersTimes, ...others.times };
  const steady = others.steady ?? steadyNow;
  const { deadlines = createDeadlines(steady) } = others;
  const deps = { batches, id, broadcastLogRead, times, steady, deadlines };
  const heartbeat = new Heartbeat(deps);
  heartbeat.onNews(({ serverNow: now, askedAt, landedAt: answeredAt }) => {
    others.follow?.({ now, askedAt, answeredAt });
  });
  const live = new LiveInstances(joined.alive);
  heartbeat.onNews((news) => live.update(news));
  const leases = new Leases(heartbeat, deps);
  const broadcastLog = new BroadcastLog(heartbeat, deps, others.faulted ?? (() => {}));
  const cleanup = new RowCleanup(steady);
  heartbeat.addWrites(() => (leases.holds(janitorLease) ? cleanup.writes() : []));
  return {
    id,
    instances: () => live.instances,
    withLease: (lease, run, until) => leases.hold(lease, run, until),
    holds: (lease) => leases.holds(lease),
    broadcast: (kind, body) => broadcastLog.tell(kind, body),
    onBroadcast: (kind, listener) => broadcastLog.on(kind, listener),
    limitShare: () => Math.max(1, live.instances.length),
    onChange: (listener) => live.onChange(listener),
    heartbeat,
    close: () => heartbeat.close(),
  };
}

/** The live instances, by the last heartbeat. */
class LiveInstances {
  instances: readonly Instance[];
  readonly #listeners = new Set<() => void>();

  constructor(instances: readonly Instance[]) {
    this.instances = instances;
  }

  update({ alive }: News): void {
    const before = JSON.stringify(this.instances);
    this.instances = alive.map(({ id, version, beganAt, posts: leases }) => {
      return { id, version, beganAt, posts: leases };
    });
    if (JSON.stringify(this.instances) === before) return;
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}

/** Deletes old rows at times; skips rows that are locked or still needed. */
class RowCleanup {
  readonly #steady: () => SteadyTime;
  #lastAt: SteadyTime;

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
    this.#lastAt = steady();
  }

  writes(): readonly Single[] {
    if (this.#steady() - this.#lastAt < cleanupEveryMs) return [];
    this.#lastAt = this.#steady();
    return [formerRows, readBroadcastLogRows].map((text) => ({ kind: 'single', text, values: [] }));
  }
}

// Joining: a starting instance begins to work beside others. An instance of the release before
// knows no others; while it lives it has the database to itself.

/** The start of an instance that has joined. */
export type Joined = {
  readonly id: number;
  /** The instances that lived at that moment, this one too, without their leases. */
  readonly alive: readonly Instance[];
  /**
   * The newest broadcast at the start. This instance reads the database after it, so it need not
   * hear it or the ones before.
   */
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
  /** Called with the reading of the server's clock, as soon as this instance has joined. */
  readonly follow?: ((reading: ClockReading) => void) | undefined;
  /** How long a start waits for a lock; left out: 15 s. */
  readonly lockMs?: number;
};

/** The tables are locked while a command moves the data of the database. */
const lockedState = '55P03';
/** Longer than a batch of an instance that is gone can lock its row. */
const lockMsUsual = 15_000;

/**
 * An instance of the release before worked all queues, and recorded no owner in them. It had also
 * taken over the work of those before it. So the newest such instance becomes the owner of each
 * queue that has messages. It then counts as an ordinary dead instance, and its queues are freed
 * like those of any other.
 */
const markFormerReleases =
  'UPDATE svc.instance SET beside = true WHERE dead AND NOT beside RETURNING id';
const giveQueues = `
UPDATE svc.lane AS lane SET owner = $1 FROM (
  SELECT channel, conversation FROM svc.inbox UNION SELECT channel, conversation FROM svc.outbox
) AS one
WHERE lane.channel = one.channel AND lane.conversation = one.conversation
  AND (lane.owner IS NULL OR lane.owner < $1)`;

/**
 * Live instances that share the database stay as they are. An instance whose process ran on this
 * machine and is gone is dead from now on. An instance of the release before blocks the start while
 * it lives: this waits until it sends a heartbeat or is dead.
 * @param client in no transaction
 * @throws the server's error, or the reason of the signal
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
  // READ COMMITTED, so that it sees the work of another start that it waited for.
  await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockMs}`);
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
    const { rows } = await client.query<Row>(
      `SELECT ${othersColumns}, beside FROM svc.instance WHERE NOT dead ORDER BY id`,
    );
    const blocking = rows.find((other) => !other.beside && !hasEnded(other, still, self));
    if (blocking !== undefined) return { inTheWay: blocking };
    const gone = rows.filter(({ beside, process }) => !beside || isGone(process, self));
    // Waits for a batch of theirs that is under way.
    await client.query('UPDATE svc.instance SET dead = true WHERE id = ANY($1)', [
      gone.map(({ id }) => id),
    ]);
    const { rows: former } = await client.query<{ id: number }>(markFormerReleases);
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
