/**
 * The news that an instance reads with each heartbeat: the live instances, the owners of the
 * leases, and new broadcasts.
 */
import type { SteadyTime } from '../../../lib/clock.ts';
import type { Instance } from '../../../cluster/backend.ts';
import { fromText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';
import type { Single } from '../write/writes.ts';

export type News = {
  /** In the order of their starts. */
  readonly alive: readonly LiveInstance[];
  /** Dead instances whose queues are not free yet, in the order of their starts. */
  readonly unburied: readonly UncleanedInstance[];
  /** In the order of their names. */
  readonly leases: readonly Lease[];
  /** New broadcasts in order. Where there are more, the next heartbeat reads the rest. */
  readonly broadcastLog: readonly Broadcast[];
  /** Milliseconds since 1970 by the server's clock, at some moment between the next two. */
  readonly serverNow: number;
  readonly askedAt: SteadyTime;
  readonly landedAt: SteadyTime;
};

export type LiveInstance = Instance & {
  /** The number of its last batch, which each heartbeat increases. */
  readonly grp: number;
  readonly broadcastLogRead: number;
};

export type UncleanedInstance = {
  readonly id: number;
  /** How it ended, as JSON; null: unknown. */
  readonly ended: string | null;
};

export type Lease = {
  readonly name: string;
  readonly owner: number | null;
  readonly epoch: number;
};
export type Broadcast = { readonly n: number; readonly kind: string; readonly body: string };

type NewsRow = Omit<News, 'askedAt' | 'landedAt'>;

/** One heartbeat reads at most this many broadcasts. */
const broadcastLogRowsMax = 100;
const unburiedMax = 1_000;

/** One statement, so that all of it is of one moment. */
const text = `
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
  (SELECT coalesce(json_agg(json_build_object('id', id, 'version', version, 'grp', grp,
      'beganAt', floor(extract(epoch FROM began_at) * 1000)::bigint, 'broadcastLogRead', board_read)
    ORDER BY id), '[]') FROM svc.instance WHERE NOT dead) AS alive,
  (SELECT coalesce(json_agg(json_build_object('id', id, 'ended', ended)
    ORDER BY id), '[]') FROM (
      SELECT * FROM svc.instance WHERE dead AND NOT buried ORDER BY id LIMIT ${unburiedMax}
    ) AS limited) AS unburied,
  (SELECT coalesce(json_agg(json_build_object('name', name, 'owner', owner, 'epoch', epoch)
    ORDER BY name), '[]') FROM svc.post) AS leases,
  (SELECT coalesce(json_agg(json_build_object('n', n, 'kind', kind, 'body', body)
    ORDER BY n), '[]') FROM (
      SELECT * FROM svc.board WHERE n > $1 ORDER BY n LIMIT ${broadcastLogRowsMax}
    ) AS limited) AS "broadcastLog"`;

/** @param after the number of the last broadcast that this instance has read */
export function newsWrite(after: number, onNews: (news: NewsRow) => void): Single {
  const statement = { text, values: [after] };
  return { kind: 'single', ...statement, again: statement, told: (rows) => onNews(newsOf(rows)) };
}

function newsOf([row]: Rows): NewsRow {
  const { now, alive, unburied, leases, broadcastLog } = row as Readonly<{
    now: number;
    alive: readonly Omit<LiveInstance, 'posts'>[];
    unburied: readonly UncleanedInstance[];
    leases: readonly Lease[];
    broadcastLog: readonly Broadcast[];
  }>;
  const named = leases.map((lease) => ({ ...lease, name: fromText(lease.name) }));
  const leasesOf = (id: number): readonly string[] => {
    return named.filter(({ owner }) => owner === id).map(({ name }) => name);
  };
  return {
    serverNow: now,
    alive: alive.map((one) => ({ ...one, posts: leasesOf(one.id) })),
    unburied,
    leases: named,
    broadcastLog: broadcastLog.map(({ n, kind, body }) => ({
      n,
      kind: fromText(kind),
      body: fromText(body),
    })),
  };
}
