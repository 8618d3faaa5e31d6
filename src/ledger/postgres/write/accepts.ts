/**
 * The statements that accept messages. A message takes the next number of its queue under the
 * queue's row lock. So the numbers of a conversation follow the commits without a gap. The same
 * statement takes a free queue for this instance. The batch also compares deduplication keys: a
 * duplicate takes no number and leaves no row.
 */
import { completionsChannel } from '../../../domain/ids.ts';
import {
  asJson,
  type First,
  type Landing,
  type LockedQueue,
  type Rows,
  type Step,
} from './statement.ts';

export type AcceptWrite = {
  readonly kind: 'accept';
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly at: number;
  readonly sender: string;
  readonly private: boolean;
  readonly body: string;
  /** The deduplication key; null: a resend is not recognised. */
  readonly key: string | null;
  readonly expiresAt: number;
  readonly fingerprint: string | null;
};

/** Every batch locks keys in the order channel, key. So no two batches wait for each other. */
const remember = `
INSERT INTO svc.dedupe AS was (channel, key, message_id, expires_at, fingerprint)
SELECT channel, key, id, expires, fingerprint
FROM json_to_recordset($1) AS x(channel text COLLATE "C", key text COLLATE "C", id text,
  expires bigint, fingerprint text)
ORDER BY channel, key
ON CONFLICT (channel, key) DO UPDATE SET message_id = excluded.message_id,
  expires_at = excluded.expires_at, fingerprint = excluded.fingerprint
WHERE was.expires_at <= $2`;

/** `OFFSET 0` keeps one index lookup for each row, whatever plan the server prefers. */
const recall = `
SELECT x.id, was.message_id AS first, was.fingerprint
FROM json_to_recordset($1) AS x(channel text COLLATE "C", key text COLLATE "C",
  id text COLLATE "C")
CROSS JOIN LATERAL (
  SELECT message_id, fingerprint FROM svc.dedupe
  WHERE channel = x.channel AND key = x.key OFFSET 0
) AS was
WHERE was.message_id <> x.id`;

/** True for a message without a key, and for the first message with its key. */
const isNew = `(x.key IS NULL OR x.id = (SELECT message_id FROM svc.dedupe AS was
  WHERE was.channel = x.channel AND was.key = x.key))`;

/** The client of an API request waits at this instance, so no other one could answer it. */
const takesNew = `($3 OR channel = '${completionsChannel}')`;

/**
 * Gives numbers to messages and locks all queues of the batch, in one order, as every batch does.
 * The message takes a free queue for this instance. In a queue of another instance only the number
 * goes up; the owner sees the number before it releases the queue.
 *
 * Rows with `n` = 0 are queues that other writes of this batch change. The statement locks them
 * too, as long as the message of that write still exists.
 * @param locks whether some of these rows name no message; they are locked where the queue exists
 */
const queues = (keyed: boolean, locks: boolean): string => {
  const free = 'excluded.tail > 0 AND lane.owner IS NULL';
  const taken = `${free} AND $3 AND lane.waits < $4`;
  // Scalar subqueries keep one index lookup for each row, whatever plan the server prefers.
  const message = '(SELECT true FROM svc.inbox AS was WHERE was.id = x.id)';
  const known = `x.id IS NULL AND (SELECT true FROM svc.lane AS was
    WHERE was.channel = x.channel AND was.conversation = x.conversation)`;
  return `
INSERT INTO svc.lane AS lane (channel, conversation, tail, owner, waits)
SELECT channel, conversation, sum(n), CASE WHEN ${takesNew} AND sum(n) > 0 THEN $2::bigint END,
  CASE WHEN ${takesNew} THEN 0 ELSE 2 END
FROM json_to_recordset($1) AS x(n bigint, id text COLLATE "C", channel text COLLATE "C",
  conversation text COLLATE "C", key text COLLATE "C")
WHERE ${keyed ? `${isNew} AND ` : ''}
  (x.n > 0 OR ${message}${locks ? ` OR ${known}` : ''})
GROUP BY channel, conversation
ORDER BY channel, conversation
ON CONFLICT (channel, conversation) DO UPDATE SET tail = lane.tail + excluded.tail,
  owner = CASE WHEN ${taken} THEN $2::bigint ELSE lane.owner END,
  epoch = lane.epoch + CASE WHEN ${taken} THEN 1 ELSE 0 END,
  waits = CASE WHEN ${free} AND NOT ($3 AND lane.waits < $4) THEN greatest(lane.waits, 2)
    ELSE lane.waits END
RETURNING channel, conversation, owner, epoch, waits`;
};

/** A message's number is the newest number of its queue, minus the messages after it. */
const enter = (keyed: boolean): string => `
INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, body)
SELECT x.id, x.channel, x.conversation, lane.tail - x.behind, x.at, x.sender, x.private, x.body
FROM (
  SELECT *, count(*) OVER lane - row_number() OVER (lane ORDER BY place) AS behind
  FROM json_to_recordset($1) AS x(place integer, id text COLLATE "C", channel text COLLATE "C",
    conversation text COLLATE "C", at bigint, sender text, private boolean, body text,
    key text COLLATE "C")
  ${keyed ? `WHERE ${isNew}` : ''}
  WINDOW lane AS (PARTITION BY channel, conversation)
) AS x
CROSS JOIN LATERAL (
  SELECT tail FROM svc.lane WHERE channel = x.channel AND conversation = x.conversation OFFSET 0
) AS lane
RETURNING id, n`;

const numbered = 'SELECT id, n FROM svc.inbox WHERE id = ANY($1)';
const queueOf = `
SELECT lane.channel, lane.conversation, lane.owner, lane.epoch, lane.waits
FROM json_to_recordset($1) AS x(channel text COLLATE "C", conversation text COLLATE "C")
CROSS JOIN LATERAL (
  SELECT * FROM svc.lane WHERE channel = x.channel AND conversation = x.conversation OFFSET 0
) AS lane`;

/** Whether this instance takes free queues together with the messages that it accepts. */
export type Taker = {
  /** The number of this instance. */
  readonly instance: number;
  /** Whether this instance has room for more messages. */
  readonly takes: boolean;
  /** Whether it also takes queues with a suspected message in front. */
  readonly takesSuspects: boolean;
};

/**
 * @param locked queues that other writes of the batch change
 * @returns no steps when there is nothing to write and nothing to lock
 */
export function acceptSteps(
  writes: readonly AcceptWrite[],
  locked: readonly LockedQueue[],
  taker: Taker,
): readonly Step[] {
  if (writes.length === 0 && locked.length === 0) return [];
  const { firsts, duplicates } = groupByKey(writes);
  const keyed = firsts.filter(({ key }) => key !== null);
  const hasKeys = keyed.length > 0;
  const rows = firsts.map(rowOf);
  const step = queueStep(rows, locked, hasKeys, taker);
  if (rows.length === 0) return [step];
  const ids = firsts.map(({ id }) => id);
  const steps: Step[] = [
    step,
    {
      statement: {
        text: enter(hasKeys),
        values: [asJson(rows)],
        again: { text: numbered, values: [ids] },
      },
      read: readNumbers,
    },
  ];
  if (!hasKeys) return steps;
  const keys = asJson(
    keyed.map(({ channel, key, id, expiresAt, fingerprint }) => {
      return { channel, key, id, expires: expiresAt, fingerprint };
    }),
  );
  const now = Math.max(...keyed.map(({ at }) => at));
  const known = { text: recall, values: [keys] };
  return [
    { statement: { text: remember, values: [keys, now] } },
    ...steps,
    {
      statement: { ...known, again: known },
      read: (found, landing) => readKnown(found, landing, duplicates),
    },
  ];
}

function queueStep(
  rows: readonly ReturnType<typeof rowOf>[],
  locked: readonly LockedQueue[],
  hasKeys: boolean,
  { instance, takes, takesSuspects }: Taker,
): Step {
  const messages = rows.map(({ n, id, channel, conversation, key }) => {
    return { n, id, channel, conversation, key };
  });
  const rowsToLock = [...messages, ...locked.map((one) => ({ ...one, n: 0, key: null }))];
  const locks = locked.some(({ id }) => id === undefined);
  const set = asJson(rowsToLock);
  const values = [set, instance, takes, takesSuspects ? 4 : 3];
  const again = { text: queueOf, values: [set] };
  return { statement: { text: queues(hasKeys, locks), values, again }, read: readQueues };
}

function rowOf(write: AcceptWrite, place: number) {
  const { id, channel, conversation, at, sender, private: label, body, key } = write;
  return { n: 1, place, id, channel, conversation, at, sender, private: label, body, key };
}

type Duplicate = { readonly id: string; readonly first: AcceptWrite };

/** Of messages with one key only the first one is written; the others are its duplicates. */
function groupByKey(writes: readonly AcceptWrite[]): {
  readonly firsts: readonly AcceptWrite[];
  readonly duplicates: readonly Duplicate[];
} {
  const byKey = new Map<string, AcceptWrite>();
  const firsts: AcceptWrite[] = [];
  const duplicates: Duplicate[] = [];
  for (const write of writes) {
    const key = write.key === null ? null : `${write.channel} ${write.key}`;
    const first = key === null ? undefined : byKey.get(key);
    if (first !== undefined) {
      duplicates.push({ id: write.id, first });
      continue;
    }
    if (key !== null) byKey.set(key, write);
    firsts.push(write);
  }
  return { firsts, duplicates };
}

function readNumbers(rows: Rows, { numbers }: Landing): void {
  for (const { id, n } of rows) numbers.set(id as string, Number(n));
}

function readQueues(rows: Rows, { queues: facts }: Landing): void {
  for (const { channel, conversation, owner, epoch, waits } of rows) {
    facts.set(`${String(channel)} ${String(conversation)}`, {
      owner: owner === null ? null : Number(owner),
      epoch: Number(epoch),
      waits: Number(waits),
    });
  }
}

function readKnown(rows: Rows, { known }: Landing, duplicates: readonly Duplicate[]): void {
  for (const { id, first, fingerprint } of rows) {
    known.set(id as string, { id: first as string, fingerprint: fingerprint as string | null });
  }
  for (const { id, first } of duplicates) {
    const own: First = { id: first.id, fingerprint: first.fingerprint };
    known.set(id, known.get(first.id) ?? own);
  }
}
