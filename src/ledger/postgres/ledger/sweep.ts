/**
 * Deletes rows whose retention is over, in small steps with pauses on the connection for slow
 * reads. So no message waits for it. Conversations stay until a person deletes them, except those
 * of API requests.
 */
import { dayMs } from '../../../lib/durations.ts';
import { completionsChannel } from '../../../domain/ids.ts';
import { auditDays } from '../../../domain/audit.ts';
import { figureRowsMax, kept } from '../../../telemetry/figures/figures.ts';
import { firstDaysKept } from '../../engine/spending.ts';
import type { Reads } from '../deps.ts';
import type { Query } from '../write/statement.ts';
import { Janitor } from './janitor.ts';
import type { Client } from 'pg';
import { wholeIdLength } from '../../engine/queue.ts';
import { lastIdKept } from './marks.ts';

// SQL for rows that belong to messages. It looks them up for one message at a time: for many at
// once the planner would read the whole table. `given` is the list of message ids.

/** The ids of the array `$1`. */
export const given = 'unnest($1::text[] COLLATE "C") AS given(id)';

export function rowsOf(table: string, columns: string, messages: string): string {
  return (
    `SELECT one.* FROM ${messages} CROSS JOIN LATERAL (` +
    `SELECT ${columns} FROM svc.${table} WHERE message_id = given.id OFFSET 0) AS one`
  );
}

export function deleteOf(table: 'tool_use' | 'tool_call', messages: string): string {
  return `DELETE FROM svc.${table} WHERE key = ANY(ARRAY(${rowsOf(table, 'key', messages)}))`;
}

/** Deletes by `ctid`, which does not change: no statement updates attachments in place. */
export function deleteAttachmentsOf(messages: string): string {
  const found = rowsOf('attachment', 'ctid', messages);
  return `DELETE FROM svc.attachment WHERE ctid = ANY(ARRAY(${found}))`;
}

/** The most rows of one kind that one step deletes. */
const rowsAtOnce = 200;
/** A step looks at the oldest rows only: they expire first, and a full scan takes too long. */
const rowsLooked = 2_000;
const attachmentsLooked = 500;
const everyMs = 60_000;

const oldest = (table: string): string =>
  `(SELECT * FROM svc.${table} ORDER BY id LIMIT ${rowsLooked}) AS oldest`;
/** The newest row stays, since the next start must give newer ids. */
const isOld = (table: string): string =>
  `settled_at < $1 AND id < (SELECT max(id) FROM svc.${table})`;
const replies = `
DELETE FROM svc.sent WHERE id = ANY(ARRAY(
  SELECT id FROM ${oldest('sent')} WHERE ${isOld('sent')} LIMIT ${rowsAtOnce}
)) RETURNING id, failure IS NOT NULL AS dead`;

/** A scalar subquery makes one index lookup for each message, whatever the statistics say. */
const hasNone = (table: string): string =>
  `(SELECT true FROM svc.${table} WHERE message_id = oldest.id LIMIT 1) IS NULL`;
/**
 * A message stays as long as its replies, since it names the sender that they answer. Each API
 * request is a conversation of its own, whose queue goes with it.
 */
const sweepMessages = `
WITH gone AS (
  DELETE FROM svc.message WHERE id = ANY(ARRAY(
    SELECT id FROM ${oldest('message')} WHERE ${isOld('message')}
      AND ${hasNone('sent')} AND ${hasNone('outbox')}
    LIMIT ${rowsAtOnce}
  )) RETURNING id, channel, conversation, failure IS NOT NULL AS dead
), queues AS (
  DELETE FROM svc.lane WHERE channel = '${completionsChannel}' AND conversation = ANY(ARRAY(
    SELECT conversation FROM gone WHERE channel = '${completionsChannel}'
  )) AND owner IS NULL AND session IS NULL
), uses AS (
  ${deleteOf('tool_use', 'gone AS given')}
), calls AS (
  ${deleteOf('tool_call', 'gone AS given')}
), files AS (
  ${deleteAttachmentsOf('gone AS given')}
)
SELECT id, dead FROM gone`;

/**
 * Deletes attachments without a message: an older release, which knows no attachments, deletes
 * messages without them. One step looks at the messages after `$1`.
 */
const strayAttachments = `
WITH looked AS MATERIALIZED (
  SELECT message_id AS id FROM svc.attachment WHERE message_id > $1
  ORDER BY message_id LIMIT ${attachmentsLooked}
), strays AS MATERIALIZED (
  SELECT id FROM looked
  WHERE (SELECT true FROM svc.message WHERE id = looked.id) IS NULL
    AND (SELECT true FROM svc.inbox WHERE id = looked.id) IS NULL
  LIMIT ${rowsAtOnce}
), gone AS (
  DELETE FROM svc.attachment WHERE message_id = ANY(ARRAY(SELECT id FROM strays))
  RETURNING message_id
)
SELECT (SELECT count(*) FROM gone)::integer AS gone, CASE
  WHEN (SELECT count(*) FROM strays) = ${rowsAtOnce} THEN (SELECT max(id) FROM strays)
  WHEN (SELECT count(*) FROM looked) = ${attachmentsLooked} THEN (SELECT max(id) FROM looked)
  ELSE '' END AS last`;

const approvals = `
DELETE FROM svc.approval WHERE id = ANY(ARRAY(
  SELECT id FROM svc.approval WHERE settled_at < $1
  ORDER BY settled_at LIMIT ${rowsAtOnce} FOR UPDATE SKIP LOCKED
)) RETURNING id`;

/** Skips a key that a batch locks, so that the two never wait for each other. */
const keys = `
DELETE FROM svc.dedupe WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM svc.dedupe WHERE expires_at < $1
  ORDER BY expires_at LIMIT ${rowsAtOnce} FOR UPDATE SKIP LOCKED
)) RETURNING key`;

const audited = `
DELETE FROM svc.audit WHERE seq = ANY(ARRAY(
  SELECT seq FROM (SELECT seq, at FROM svc.audit ORDER BY seq LIMIT ${rowsAtOnce}) AS oldest
  WHERE at < $1
)) RETURNING seq`;

/** Deletes figures of one length that are too old, or too many. */
const figures = `
DELETE FROM svc.figure WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM svc.figure WHERE length_ms = $1 AND at <= greatest($2::bigint - 1, (
    SELECT at FROM svc.figure WHERE length_ms = $1 ORDER BY at DESC LIMIT 1 OFFSET ${figureRowsMax}
  )) ORDER BY at LIMIT ${rowsAtOnce} FOR UPDATE SKIP LOCKED
)) RETURNING run`;

const spend = (which: string): string => `
DELETE FROM svc.spend WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM svc.spend WHERE ${which} AND day < $1
  ORDER BY day, channel, sender LIMIT ${rowsAtOnce} FOR UPDATE SKIP LOCKED
)) RETURNING day`;

export type SweepDeps = {
  readonly reads: Reads;
  /** 0 keeps everything but expired keys, old figures and spend, and the audit of a year ago. */
  readonly retentionDays: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Whether this instance sweeps; absent: it does. */
  readonly isMine?: () => boolean;
  /** Called for each deleted dead letter. */
  readonly expired: (id: string) => void;
};

/** Where a sweep continues. */
type Place = {
  /** The message of the last attachment that a sweep looked at; empty: from the start. */
  attachment: string;
};

export const atTheStart = (): Place => ({ attachment: '' });

/**
 * One sweep over all tables.
 * @param place where the last sweep ended; this one moves it
 * @returns how many rows were deleted; 0: nothing more to delete now
 */
export async function sweepOnce(
  { reads, retentionDays, now, expired }: SweepDeps,
  place: Place = atTheStart(),
): Promise<number> {
  const at = now();
  const before = retentionDays === 0 ? 0 : at - retentionDays * dayMs;
  const firstDays = firstDaysKept(at, retentionDays);
  const steps: readonly Query[] = [
    { text: replies, values: [before] },
    { text: sweepMessages, values: [before] },
    { text: approvals, values: [before] },
    { text: keys, values: [at] },
    { text: audited, values: [at - auditDays * dayMs] },
    ...kept.map(({ lengthMs, forMs }) => ({ text: figures, values: [lengthMs, at - forMs] })),
    { text: spend("channel = ''"), values: [firstDays.all] },
    { text: spend("channel <> ''"), values: [firstDays.ofSenders] },
  ];
  let rows = 0;
  for (const step of steps) {
    const gone = await reads.ask(step);
    for (const { id, dead } of gone) if (dead === true) expired(String(id));
    rows += gone.length;
  }
  const [strays] = await reads.ask({ text: strayAttachments, values: [place.attachment] });
  const last = strays?.['last'];
  place.attachment = typeof last === 'string' ? last : '';
  return rows + Number(strays?.['gone'] ?? 0);
}

/** Sweeps every minute until it is disposed of. */
export function beginSweeping({ isMine, ...deps }: SweepDeps): Janitor {
  const place = atTheStart();
  return new Janitor({ isMine, everyMs, step: async () => (await sweepOnce(deps, place)) > 0 });
}

/**
 * The newest id that a message or reply ever had; empty: there was none. The sweep keeps the newest
 * row of a table. Before a person deletes rows, a mark stores the newest id.
 */
export async function lastId(client: Client): Promise<string> {
  const tables = ['inbox', 'message', 'outbox', 'sent'];
  const newest = tables.map((table) => `(SELECT max(id) FROM svc.${table})`);
  const ids = [...newest, `(${lastIdKept})`].join(', ');
  const { rows } = await client.query(`SELECT greatest(${ids}) AS id`);
  return String(rows[0]?.['id'] ?? '').slice(0, wholeIdLength);
}
