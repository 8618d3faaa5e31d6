/**
 * The statements by which queues change hands. $1 is a list of queues, or this instance. None waits
 * for the lock of a queue.
 *
 * They look queues up one at a time by key, and change them by their place (`ctid`): for a join
 * with many rows the planner would read the whole table. A queue that changes between the lookup
 * and the lock stays as it is, and is not returned.
 */
import { latestTry } from '../ledger/stored-rows.ts';
import { aloneMax } from '../../engine/crash-isolation.ts';
import { attemptsMax } from '../../engine/queue.ts';

/** One statement changes at most this many queues. */
export const queuesMax = 500;

const givenQueues =
  'json_to_recordset($1) AS x(channel text COLLATE "C", conversation text COLLATE "C")';
const sameQueue = (table: string): string =>
  `channel = ${table}.channel AND conversation = ${table}.conversation`;
/** The queue of each row of `table`. */
const queuesOf = (table: string, columns: string, which: string, lock = 'OFFSET 0'): string => `
CROSS JOIN LATERAL (
  SELECT ${columns} FROM svc.lane AS lane WHERE ${sameQueue(table)} AND ${which} ${lock}
) AS lane`;
const unlocked = 'FOR UPDATE SKIP LOCKED';
const places = (which: string): string => `ctid = ANY(ARRAY(SELECT place FROM ${which}))`;

const isSame = 'owner = $2 AND epoch = x.epoch';

/**
 * $2: this instance. `given`: releases also where more rows have come, which the next owner reads.
 * A release that comes late, after a lost connection, does nothing when the queue was taken again
 * since.
 */
export const release = `
WITH mine AS (
  SELECT lane.*, x.tail = lane.tail OR x.given AS goes, x.waits
  FROM json_to_recordset($1) AS x(channel text COLLATE "C", conversation text COLLATE "C",
    epoch bigint, tail bigint, waits smallint, given boolean)
  ${queuesOf('x', 'ctid AS place, channel, conversation, tail', isSame, unlocked)}
), free AS (
  UPDATE svc.lane SET owner = NULL, waits = CASE WHEN ${places('mine WHERE waits = 2')} THEN 2
    WHEN ${places('mine WHERE waits = 1')} THEN 1 ELSE 0 END
  WHERE ${places('mine WHERE goes')}
  RETURNING channel, conversation, tail
)
SELECT channel, conversation, tail, true AS goes FROM free
UNION ALL SELECT channel, conversation, tail, false FROM mine WHERE NOT goes`;

/**
 * For queues that are given back in order: no message in them is suspected, unless it is poison.
 */
export const clearAttempts = `
UPDATE svc.inbox SET attempts = 0, alone = 0 WHERE id = ANY(ARRAY(
  SELECT was.id FROM ${givenQueues} CROSS JOIN LATERAL (
    SELECT id FROM svc.inbox WHERE ${sameQueue('x')} AND (attempts > 0 OR alone > 0)
      AND alone < ${aloneMax} OFFSET 0
  ) AS was
))`;

/** The owner of each of these queues; null where the queue is gone. */
export const owners = `
SELECT x.channel, x.conversation, lane.owner, lane.epoch FROM ${givenQueues} LEFT JOIN LATERAL (
  SELECT owner, epoch FROM svc.lane WHERE ${sameQueue('x')} OFFSET 0
) AS lane ON true`;

/** $2: channels. $3 and $4: whether all other channels except $4 count, too. */
const mayTake = 'owner IS NULL AND (channel = ANY($2) OR ($3 AND channel <> ALL($4)))';
const takeQueues = (found: string): string => `
UPDATE svc.lane SET owner = $1, epoch = epoch + 1, waits = greatest(waits, 2)
WHERE ctid = ANY(ARRAY(${found}))
RETURNING channel, conversation, epoch, tail`;

/**
 * Continues from a place, so that no queue waits for ever behind others. $5, $6: the place. $7, $8:
 * whether queues with a suspected message in front are taken, too; else the channels whose such
 * queues are.
 */
export const takeWaiting = takeQueues(`
  SELECT ctid FROM svc.lane
  WHERE waits >= 2 AND (waits < 3 OR $7 OR channel = ANY($8)) AND ${mayTake}
    AND (channel, conversation) > ($5, $6)
  ORDER BY channel, conversation LIMIT ${queuesMax} ${unlocked}`);

/** Queues of parked replies that are due. $5: now, milliseconds since 1970. */
export const takeDue = takeQueues(`
  SELECT lane.place FROM (
    SELECT DISTINCT channel, conversation FROM (
      SELECT channel, conversation FROM svc.outbox WHERE parked AND due_at <= $5
      ORDER BY due_at LIMIT 2000
    ) AS one
  ) AS due ${queuesOf('due', 'ctid AS place', `waits < 2 AND ${mayTake}`, unlocked)}
  LIMIT ${queuesMax}`);

/** The queues that this instance has taken because rows wait in them. */
export const takenBefore =
  'SELECT channel, conversation, epoch, tail FROM svc.lane WHERE waits >= 2 AND owner = $1';

/** Which of these queues are this instance's. $2: this instance. */
export const ownQueues = `
SELECT lane.* FROM ${givenQueues}
${queuesOf('x', 'channel, conversation, epoch, tail', 'owner = $2')}`;

/** The owner is dead; or the queue has no owner, and no instance looks for it. */
const isLost = `((owner IS NULL AND waits < 2) OR (owner IS NOT NULL
    AND NOT EXISTS (SELECT FROM svc.instance WHERE id = lane.owner AND NOT dead)))`;
/** Rows in the queues of owners that ended in one of these ways. */
const rowsOfEnds = (kinds: string, ...rows: readonly string[]): string => `id = ANY(ARRAY(
    SELECT one.id FROM ends CROSS JOIN LATERAL (${rows.join(' UNION ALL ')}) AS one
    WHERE ends.kind IN (${kinds})
  ))`;
const rowsIn = (table: string, which: string): string =>
  `(SELECT id FROM svc.${table} WHERE ${sameQueue('ends')} ${which})`;
/** A queue that an operator had taken over was not being worked. */
const unheld = `AND NOT EXISTS (SELECT FROM svc.hold WHERE ${sameQueue('ends')} AND until_at > $2)`;
const firstMessages = rowsIn('inbox', `${unheld} ORDER BY n LIMIT 1`);
const withAttempts = `AND (attempts > 0 OR alone > 0) AND alone < ${aloneMax} OFFSET 0`;
const nextReply = rowsIn('outbox', 'AND NOT parked ORDER BY seq LIMIT 1');

/**
 * Frees queues whose owner is dead. The first message of each counts as tried, with two exceptions.
 * After an end by the storage it does not. After an end in order nothing in the queue counts as
 * tried any more. A reply that was due may have been sent, and so may one that was due by a clock
 * that was ahead. $2: now.
 */
export const freeQueues = `
WITH lost AS (
  SELECT lane.* FROM ${givenQueues}
  ${queuesOf('x', 'ctid AS place, channel, conversation, owner', isLost, unlocked)}
), freed AS (
  UPDATE svc.lane SET owner = NULL, waits = CASE WHEN (
      SELECT true FROM svc.inbox AS head WHERE ${sameQueue('lane')}
        AND (attempts >= ${attemptsMax - 1} OR alone >= ${aloneMax}) LIMIT 1
    ) THEN 3 ELSE 2 END
  WHERE ${places('lost')}
  RETURNING channel, conversation
), ends AS (
  SELECT channel, conversation, was.ended::json ->> 'alone' AS alone,
    CASE WHEN lost.owner IS NULL THEN 'none' WHEN was.ended IS NULL THEN 'crash'
      WHEN was.ended::json ->> 'clean' = 'true' THEN 'clean' ELSE 'storage' END AS kind
  FROM freed JOIN lost USING (channel, conversation)
  LEFT JOIN svc.instance AS was ON was.id = lost.owner
), tried AS (
  UPDATE svc.inbox SET attempts = attempts + 1 WHERE ${rowsOfEnds("'crash'", firstMessages)}
), cleared AS (
  UPDATE svc.inbox SET attempts = 0, alone = 0
  WHERE ${rowsOfEnds("'clean'", rowsIn('inbox', withAttempts))}
), spared AS (
  UPDATE svc.inbox SET alone = alone - 1
  WHERE ${rowsOfEnds("'storage'", rowsIn('inbox', 'AND id = ends.alone OFFSET 0'))}
), sent AS (
  UPDATE svc.outbox SET attempts = attempts + 1, replayed = replayed + 1, possible_duplicate = true
  WHERE ${rowsOfEnds("'crash', 'storage'", nextReply, rowsIn('outbox', 'AND parked OFFSET 0'))}
    AND (coalesce(due_at, 0) <= $2 OR due_at > ${latestTry('$2')})
)
SELECT channel, conversation FROM freed`;
