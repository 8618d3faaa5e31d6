/**
 * The statements by which lanes change hands. $1 names lanes, or is this instance. None of them
 * waits for a lock.
 */
import { aloneMax, attemptsMax } from '../../order/quarantine.ts';

/** So many lanes change hands in one statement. */
export const lanesMax = 500;

const named = 'x(channel text COLLATE "C", conversation text COLLATE "C")';
const pk = (table: string): string =>
  `lane.channel = ${table}.channel AND lane.conversation = ${table}.conversation`;

/**
 * $2: this instance. `given`: also where more has come, which the next owner reads. One that is
 * late, after its connection was lost, finds that the lane was taken again since.
 */
export const release = `
WITH mine AS (
  SELECT lane.channel, lane.conversation, lane.tail, x.tail = lane.tail OR x.given AS goes, x.waits
  FROM json_to_recordset($1) AS x(channel text COLLATE "C", conversation text COLLATE "C",
    epoch bigint, tail bigint, waits smallint, given boolean)
  JOIN svc.lane AS lane ON ${pk('x')}
  WHERE lane.owner = $2 AND lane.epoch = x.epoch FOR UPDATE OF lane SKIP LOCKED
), free AS (
  UPDATE svc.lane AS lane SET owner = NULL, waits = mine.waits
  FROM mine WHERE ${pk('mine')} AND mine.goes
)
SELECT channel, conversation, tail, goes FROM mine`;

/** Given back in order: nothing that waits in them is a suspect, unless it is condemned. */
export const untried = `
UPDATE svc.inbox AS was SET attempts = 0, alone = 0
FROM json_to_recordset($1) AS ${named}
WHERE was.channel = x.channel AND was.conversation = x.conversation
  AND (was.attempts > 0 OR was.alone > 0) AND was.alone < ${aloneMax}`;

export const owners = `
SELECT x.channel, x.conversation, lane.owner, lane.epoch FROM json_to_recordset($1) AS ${named}
LEFT JOIN svc.lane AS lane ON ${pk('x')}`;

/** $2: channels; $3 and $4: whether all others but these, too. */
const mayTake =
  'lane.owner IS NULL AND (lane.channel = ANY($2) OR ($3 AND lane.channel <> ALL($4)))';
const take = (found: string): string => `
WITH ${found}
UPDATE svc.lane AS lane SET owner = $1, epoch = lane.epoch + 1, waits = greatest(lane.waits, 2)
FROM found WHERE ${pk('found')}
RETURNING lane.channel, lane.conversation, lane.epoch, lane.tail`;

/** From a place on, so that none waits for ever behind others. $5, $6: the place. */
export const takeWaiting = take(`found AS (
  SELECT channel, conversation FROM svc.lane AS lane
  WHERE waits >= 2 AND waits < $7 AND ${mayTake} AND (channel, conversation) > ($5, $6)
  ORDER BY channel, conversation LIMIT ${lanesMax} FOR UPDATE SKIP LOCKED
)`);

/** Lanes of parked replies whose time has come. $5: now, milliseconds since 1970. */
export const takeDue = take(`due AS (
  SELECT DISTINCT channel, conversation FROM (
    SELECT channel, conversation FROM svc.outbox WHERE parked AND due_at <= $5
    ORDER BY due_at LIMIT 2000
  ) AS one
), found AS (
  SELECT lane.channel, lane.conversation FROM due JOIN svc.lane AS lane ON ${pk('due')}
  WHERE lane.waits < 2 AND ${mayTake} LIMIT ${lanesMax} FOR UPDATE OF lane SKIP LOCKED
)`);

/** Those that this instance has taken since something waits in them. */
export const takenBefore =
  'SELECT channel, conversation, epoch, tail FROM svc.lane WHERE waits >= 2 AND owner = $1';

/** Which of these are this instance's. $2: this instance. */
export const own = `
SELECT lane.channel, lane.conversation, lane.epoch, lane.tail FROM json_to_recordset($1) AS ${named}
JOIN svc.lane AS lane ON ${pk('x')} WHERE lane.owner = $2`;

/** The owner is no more; or nobody has it, and nobody looks for it. */
const isLost = `(lane.owner IS NULL AND lane.waits < 2) OR (lane.owner IS NOT NULL
    AND NOT EXISTS (SELECT FROM svc.instance WHERE id = lane.owner AND NOT dead))`;

/**
 * Makes lanes free whose owner is no more. What was first in them counts as tried, unless the owner
 * ended by a fault of the storage, or in order: then nothing in them does any more. A reply that
 * was due may have been sent. $2: now.
 */
export const free = `
WITH lost AS (
  SELECT lane.channel, lane.conversation, lane.owner FROM json_to_recordset($1) AS ${named}
  JOIN svc.lane AS lane ON ${pk('x')} WHERE ${isLost} FOR UPDATE OF lane SKIP LOCKED
), ends AS (
  SELECT lost.channel, lost.conversation, was.ended::json ->> 'alone' AS alone,
    CASE WHEN lost.owner IS NULL THEN 'none' WHEN was.ended IS NULL THEN 'crash'
      WHEN was.ended::json ->> 'clean' = 'true' THEN 'clean' ELSE 'storage' END AS kind
  FROM lost LEFT JOIN svc.instance AS was ON was.id = lost.owner
), heads AS (
  SELECT head.id,
    CASE WHEN ends.kind = 'crash' THEN head.attempts + 1 ELSE head.attempts END AS attempts,
    CASE WHEN head.id = ends.alone THEN head.alone - 1 ELSE head.alone END AS alone
  FROM ends CROSS JOIN LATERAL (
    SELECT id, attempts, alone FROM svc.inbox
    WHERE channel = ends.channel AND conversation = ends.conversation ORDER BY n LIMIT 1
  ) AS head WHERE ends.kind <> 'clean'
), cleared AS (
  UPDATE svc.inbox AS was SET attempts = 0, alone = 0
  FROM ends WHERE ends.kind = 'clean' AND was.channel = ends.channel
    AND was.conversation = ends.conversation
    AND (was.attempts > 0 OR was.alone > 0) AND was.alone < ${aloneMax}
), tried AS (
  UPDATE svc.inbox AS was SET attempts = heads.attempts, alone = heads.alone
  FROM heads WHERE was.id = heads.id
    AND (was.attempts <> heads.attempts OR was.alone <> heads.alone)
), sent AS (
  UPDATE svc.outbox AS was SET attempts = was.attempts + 1, replayed = was.replayed + 1,
    possible_duplicate = true
  FROM ends CROSS JOIN LATERAL (
    (SELECT id FROM svc.outbox WHERE channel = ends.channel AND conversation = ends.conversation
      AND NOT parked ORDER BY seq LIMIT 1)
    UNION ALL
    SELECT id FROM svc.outbox WHERE channel = ends.channel AND conversation = ends.conversation
      AND parked
  ) AS one
  WHERE was.id = one.id AND ends.kind IN ('crash', 'storage')
    AND coalesce(was.due_at, 0) <= $2
)
UPDATE svc.lane AS lane SET owner = NULL, waits = CASE WHEN EXISTS (
    SELECT FROM svc.inbox AS head WHERE head.channel = lost.channel
      AND head.conversation = lost.conversation
      AND (head.attempts >= ${attemptsMax - 1} OR head.alone >= ${aloneMax})
  ) THEN 3 ELSE 2 END
FROM lost WHERE ${pk('lost')}
RETURNING lane.channel, lane.conversation`;
