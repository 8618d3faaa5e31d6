/**
 * Messages on their way in. A message takes the next number of its lane under the lane's row lock,
 * so within a conversation the numbers follow the commits without a gap. A key is compared in the
 * same flight: a message whose key is another's takes no number and leaves no row.
 */
import { asJson, type First, type Landing, type Step } from './writes.ts';
import type { Rows } from './statement.ts';

export type AcceptWrite = {
  readonly kind: 'accept';
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly at: number;
  readonly sender: string;
  readonly private: boolean;
  readonly body: string;
  /** Null: nothing recognises a resend. */
  readonly key: string | null;
  readonly expiresAt: number;
  readonly fingerprint: string | null;
};

/** By channel, then by key, as every flight does: so no two wait for each other. */
const remember = `
INSERT INTO svc.dedupe AS was (channel, key, message_id, expires_at, fingerprint)
SELECT channel, key, id, expires, fingerprint
FROM json_to_recordset($1) AS x(channel text COLLATE "C", key text COLLATE "C", id text,
  expires bigint, fingerprint text)
ORDER BY channel, key
ON CONFLICT (channel, key) DO UPDATE SET message_id = excluded.message_id,
  expires_at = excluded.expires_at, fingerprint = excluded.fingerprint
WHERE was.expires_at <= $2`;

/** One look by the key for each row, whatever the planner makes of the tables. */
const recall = `
SELECT x.id, was.message_id AS first, was.fingerprint
FROM json_to_recordset($1) AS x(channel text COLLATE "C", key text COLLATE "C",
  id text COLLATE "C")
CROSS JOIN LATERAL (
  SELECT message_id, fingerprint FROM svc.dedupe
  WHERE channel = x.channel AND key = x.key OFFSET 0
) AS was
WHERE was.message_id <> x.id`;

/** A message without a key, or the first with its key. */
const isNew = `(x.key IS NULL OR x.id = (SELECT message_id FROM svc.dedupe AS was
  WHERE was.channel = x.channel AND was.key = x.key))`;

const lanes = (keyed: boolean): string => `
INSERT INTO svc.lane (channel, conversation)
SELECT DISTINCT channel, conversation
FROM json_to_recordset($1) AS x(id text COLLATE "C", channel text COLLATE "C",
  conversation text COLLATE "C", key text COLLATE "C")
${keyed ? `WHERE ${isNew}` : ''}
ORDER BY channel, conversation
ON CONFLICT (channel, conversation) DO NOTHING`;

/** The rows of a lane go along as arrays: to join them again would be the planner's guess. */
const enter = (keyed: boolean): string => `
WITH fresh AS (
  SELECT channel, conversation, count(*) AS n, array_agg(id) AS ids, array_agg(at) AS ats,
    array_agg(sender) AS senders, array_agg(private) AS privates, array_agg(body) AS bodies
  FROM (
    SELECT * FROM json_to_recordset($1) AS x(place integer, id text COLLATE "C",
      channel text COLLATE "C", conversation text COLLATE "C", at bigint, sender text,
      private boolean, body text, key text COLLATE "C")
    ${keyed ? `WHERE ${isNew}` : ''}
    ORDER BY channel, conversation, place
  ) AS x
  GROUP BY channel, conversation
), taken AS (
  UPDATE svc.lane AS lane SET tail = lane.tail + fresh.n FROM fresh
  WHERE lane.channel = fresh.channel AND lane.conversation = fresh.conversation
  RETURNING fresh.*, lane.tail - fresh.n AS before
)
INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, body)
SELECT one.id, taken.channel, taken.conversation, taken.before + one.place, one.at, one.sender,
  one.private, one.body
FROM taken CROSS JOIN LATERAL
  unnest(taken.ids, taken.ats, taken.senders, taken.privates, taken.bodies)
  WITH ORDINALITY AS one(id, at, sender, private, body, place)
RETURNING id, n`;

const numbered = 'SELECT id, n FROM svc.inbox WHERE id = ANY($1)';

export function acceptSteps(writes: readonly AcceptWrite[]): readonly Step[] {
  if (writes.length === 0) return [];
  const { firsts, followers } = groupByKey(writes);
  const keyed = firsts.filter(({ key }) => key !== null);
  const hasKeys = keyed.length > 0;
  const rows = asJson(firsts.map(rowOf));
  const ids = firsts.map(({ id }) => id);
  const steps: Step[] = [
    { statement: { text: lanes(hasKeys), values: [rows] } },
    {
      statement: { text: enter(hasKeys), values: [rows], again: { text: numbered, values: [ids] } },
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
      read: (found, landing) => readKnown(found, landing, followers),
    },
  ];
}

function rowOf(write: AcceptWrite, place: number): object {
  const { id, channel, conversation, at, sender, private: stamp, body, key } = write;
  return { place, id, channel, conversation, at, sender, private: stamp, body, key };
}

type Follower = { readonly id: string; readonly first: AcceptWrite };

/** Of those with one key only the first is asked for: the others are what it turns out to be. */
function groupByKey(writes: readonly AcceptWrite[]): {
  readonly firsts: readonly AcceptWrite[];
  readonly followers: readonly Follower[];
} {
  const byKey = new Map<string, AcceptWrite>();
  const firsts: AcceptWrite[] = [];
  const followers: Follower[] = [];
  for (const write of writes) {
    const key = write.key === null ? null : `${write.channel} ${write.key}`;
    const first = key === null ? undefined : byKey.get(key);
    if (first !== undefined) {
      followers.push({ id: write.id, first });
      continue;
    }
    if (key !== null) byKey.set(key, write);
    firsts.push(write);
  }
  return { firsts, followers };
}

function readNumbers(rows: Rows, { numbers }: Landing): void {
  for (const { id, n } of rows) numbers.set(id as string, Number(n));
}

function readKnown(rows: Rows, { known }: Landing, followers: readonly Follower[]): void {
  for (const { id, first, fingerprint } of rows) {
    known.set(id as string, { id: first as string, fingerprint: fingerprint as string | null });
  }
  for (const { id, first } of followers) {
    const own: First = { id: first.id, fingerprint: first.fingerprint };
    known.set(id, known.get(first.id) ?? own);
  }
}
