/**
 * Deferred replies of all instances: list them, and try them now. A notice of the broadcast log
 * reaches the instance that has a reply in its working set, and that instance changes it. A parked
 * reply in a free queue becomes due by its row; an instance that finds it takes the queue.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { FailureKind } from '../../../domain/failure.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { DeferredFilter, DeferredGroup, WhichDeferred } from '../../../domain/records.ts';
import type { StorageReport, StoredDeferred } from '../../engine/storage.ts';
import type { OutRow } from '../../engine/queue.ts';
import type { Peers } from '../../../cluster/backend.ts';
import type { SoonerReply } from '../../engine/crash-isolation.ts';
import { ReadFailed } from '../../ledger.ts';
import { Janitor } from './janitor.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import { Values, onChannel } from '../read/lists.ts';
import type { Rows } from '../write/statement.ts';
import { latestTry } from './stored-rows.ts';
import type { Single } from '../write/writes.ts';

const tryNowKind = 'try_now';

/** The longest wait of a caller. The query itself waits on for the server. */
const answerMs = 5_000;
/** The most rows that a count reads. */
const countedMax = 200_000;
const groups = `
SELECT channel, failure::json ->> 'kind' AS failure, (failure::json ->> 'status')::int AS status,
  count(*)::bigint AS count, min(created_at)::bigint AS "oldestAt", min(due_at)::bigint AS "nextAt"
FROM (
  SELECT channel, failure, created_at, due_at FROM svc.outbox
  WHERE failure IS NOT NULL AND due_at > $1 LIMIT ${countedMax}
) AS deferred
GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 100`;

const one = 'SELECT id FROM svc.outbox WHERE id = $1 AND due_at > $2';
/** A try is stored as [start time, …]. */
const lastTryAt = 'coalesce((tries::json -> -1 ->> 0)::float8, 0)';

/**
 * Makes parked replies of free queues due. The owner of a queue writes its own rows. A row that
 * another transaction has locked is left to that transaction.
 */
const makeDue = `
WITH due AS (
  SELECT id FROM svc.outbox AS outbox
  WHERE id = ANY($1) AND parked AND due_at > $2 AND EXISTS (
    SELECT FROM svc.lane AS lane WHERE lane.channel = outbox.channel
      AND lane.conversation = outbox.conversation AND lane.owner IS NULL
  )
  ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE svc.outbox AS outbox SET due_at = $2, replayed = replayed + 1
FROM due WHERE outbox.id = due.id`;

const soonerRows =
  'UPDATE svc.outbox AS was SET due_at = x.at ' +
  'FROM json_to_recordset($1) AS x(id text COLLATE "C", at bigint) ' +
  'WHERE was.id = x.id AND was.due_at > x.at';

/** Moves the next try of replies forward that lay too far ahead. */
export function soonerWrite(replies: readonly SoonerReply[]): Single {
  const rows = replies.map(({ row, dueAt }) => ({ id: row.head.id, at: dueAt }));
  return { kind: 'single', text: soonerRows, values: [JSON.stringify(rows)] };
}

/** The same for parked replies, which no instance owns. `$2`: looks at the most distant ones. */
const parkedSooner = `
WITH late AS (
  SELECT id, due_at, ${latestTry('$1')} AS latest FROM (
    SELECT * FROM svc.outbox WHERE parked AND due_at > $1 ORDER BY due_at DESC LIMIT $2
  ) AS far OFFSET 0
)
UPDATE svc.outbox AS was SET due_at = late.latest FROM late
WHERE was.id = late.id AND was.due_at > late.latest
RETURNING late.due_at - late.latest AS "aheadMs"`;

export type TooLate = Pick<SoonerReply, 'aheadMs'>;

type BoundingDeps = {
  readonly reads: Reads;
  readonly now: () => number;
  /** Whether this instance does the upkeep. */
  readonly isMine: () => boolean;
  readonly sooner: (replies: readonly TooLate[]) => void;
};

/** Bounds parked replies every minute: somebody may correct the server's clock at any time. */
export function beginBounding({ reads, now, isMine, sooner }: BoundingDeps): Janitor {
  const step = async (): Promise<boolean> => {
    const replies = await boundParked(reads, now(), boundedMax);
    sooner(replies);
    return replies.length > 0;
  };
  return new Janitor({ isMine, everyMs: boundEveryMs, step });
}

const boundedMax = 2_000;
const boundEveryMs = 60_000;

/**
 * Lets no parked reply wait longer than its schedule allows, whichever instance planned its next
 * try.
 * @param now milliseconds since 1970
 * @param most how many replies to look at; null: all
 * @returns for each reply that it moved: how far too late its next try was
 */
export async function boundParked(
  reads: Reads,
  now: number,
  most: number | null,
): Promise<readonly TooLate[]> {
  const rows = await reads.ask({ text: parkedSooner, values: [now, most] });
  return rows.map((row) => ({ aheadMs: Number(row['aheadMs']) }));
}

export type DeferredDeps = {
  readonly reads: Reads;
  readonly batches: PostgresBatches;
  readonly queues: { takeWaiting(): Promise<void> };
  readonly peers: Peers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** Makes replies due that this instance has in its working set. */
export function triedNowWrite(rows: readonly OutRow[], at: number): Single {
  const text =
    'UPDATE svc.outbox SET due_at = $2, replayed = replayed + 1 ' +
    'WHERE id = ANY($1) AND due_at > $2';
  return { kind: 'single', text, values: [rows.map(({ head }) => head.id), at] };
}

export class StoredReplies implements StoredDeferred {
  readonly #deps: DeferredDeps;
  #counting: Promise<Rows> | null = null;

  constructor(deps: DeferredDeps) {
    this.#deps = deps;
  }

  listen(tryHere: StorageReport['tryHere']): void {
    this.#deps.peers.onBroadcast(tryNowKind, (body) => tryHere(idsIn(body)));
  }

  async groups(): Promise<readonly DeferredGroup[]> {
    const { reads, now } = this.#deps;
    this.#counting ??= reads.ask({ text: groups, values: [now()] });
    const found = await Promise.race([
      this.#counting.finally(() => (this.#counting = null)),
      pause(answerMs, null, { ref: false }),
    ]);
    if (found === null) throw new ReadFailed('too_slow', 'The database server does not answer.');
    return found.map((row) => ({
      channel: row['channel'] as ChannelKey,
      failure: row['failure'] as FailureKind,
      status: row['status'] as number | null,
      count: Number(row['count']),
      oldestAt: Number(row['oldestAt']),
      nextAt: Number(row['nextAt']),
    }));
  }

  async find(which: WhichDeferred, most: number): Promise<readonly string[]> {
    const { reads, now } = this.#deps;
    const asked =
      which.kind === 'one'
        ? { text: one, values: [which.id, now()] }
        : allOf(which.filter, which.before, now(), most);
    return (await reads.ask(asked)).map(({ id }) => String(id));
  }

  async tryNow(ids: readonly string[]): Promise<boolean> {
    const { batches, queues, peers, now } = this.#deps;
    batches.add({ kind: 'single', text: makeDue, values: [ids, now()] });
    if (!(await batches.written(() => {}))) return false;
    void peers.broadcast(tryNowKind, JSON.stringify({ ids }));
    await queues.takeWaiting();
    return true;
  }
}

function allOf(
  { channel, failure, status }: DeferredFilter,
  before: number,
  now: number,
  most: number,
) {
  const values = new Values();
  const fits = [
    'failure IS NOT NULL',
    `due_at > ${values.put(now)}`,
    ...onChannel(channel, values),
    ...(failure === null ? [] : [`failure::json ->> 'kind' = ${values.put(failure)}`]),
    ...(status === null ? [] : [`(failure::json ->> 'status')::int = ${values.put(status)}`]),
    `${lastTryAt} < ${values.put(before)}`,
  ];
  const text = `SELECT id FROM svc.outbox WHERE ${fits.join(' AND ')} LIMIT ${values.put(most)}`;
  return { text, values: values.list };
}

/** @returns the ids of a notice; none when it cannot be parsed (perhaps of another release) */
function idsIn(body: string): readonly string[] {
  try {
    const { ids } = JSON.parse(body) as { readonly ids?: unknown };
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}
