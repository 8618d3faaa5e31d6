/** Replies that were delivered, that died, and that are to be tried again. */
import { asJson, foundIn, readDone, type Step } from './writes.ts';

/** Delivered, or dead: then `failure` says why, as JSON. */
export type SentWrite = {
  readonly kind: 'sent';
  readonly id: string;
  readonly at: number;
  readonly tookMs: number | null;
  readonly failure: string | null;
  /** The attempt that failed, and the try itself as JSON; null: none did. */
  readonly attempts: number | null;
  readonly tried: string | null;
};

export type DeferredWrite = {
  readonly kind: 'deferred';
  readonly id: string;
  readonly attempts: number;
  readonly dueAt: number;
  readonly late: boolean;
  readonly parked: boolean;
  readonly possibleDuplicate: boolean;
  /** Of the attempts: how many do not move it along its schedule. */
  readonly uncounted: number;
  readonly failure: string;
  /** The failed try, as JSON. */
  readonly tried: string;
};

/** The last sixteen tries are kept. */
const withTry = `(CASE WHEN jsonb_array_length(coalesce(was.tries, '[]')::jsonb) >= 16
    THEN was.tries::jsonb - 0 ELSE coalesce(was.tries, '[]')::jsonb END
    || jsonb_build_array(x.tried::jsonb))::text`;

const send = `
WITH gone AS (
  DELETE FROM svc.outbox AS was
  USING json_to_recordset($1) AS x(id text COLLATE "C", at bigint, "tookMs" double precision,
    failure text, attempts integer, tried text)
  WHERE was.id = x.id
  RETURNING was.id, was.channel, was.conversation, was.seq, was.created_at, was.message_id,
    coalesce(x.attempts, was.attempts) AS attempts, was.replayed, was.possible_duplicate, was.late,
    CASE WHEN x.tried IS NULL THEN was.tries ELSE ${withTry} END AS tries, was.body,
    x.at AS settled_at, x."tookMs" AS took_ms, was.replayed_at, x.failure
), kept AS (
  INSERT INTO svc.sent (id, channel, conversation, seq, created_at, message_id, attempts, replayed,
    possible_duplicate, late, tries, body, settled_at, took_ms, replayed_at, failure)
  SELECT * FROM gone
)
SELECT id FROM gone`;

const defer = `
UPDATE svc.outbox AS was SET attempts = x.attempts, due_at = x."dueAt", late = x.late,
  parked = x.parked, possible_duplicate = x."possibleDuplicate", failure = x.failure,
  replayed = was.replayed + x.uncounted,
  tries = ${withTry}
FROM json_to_recordset($1) AS x(id text COLLATE "C", attempts integer, "dueAt" bigint, late boolean,
  parked boolean, "possibleDuplicate" boolean, uncounted integer, failure text, tried text)
WHERE was.id = x.id
RETURNING was.id`;

export function sentSteps(writes: readonly SentWrite[]): readonly Step[] {
  if (writes.length === 0) return [];
  const again = foundIn('sent', idsOf(writes));
  return [{ statement: { text: send, values: [asJson(writes)], again }, read: readDone }];
}

export function deferredSteps(writes: readonly DeferredWrite[]): readonly Step[] {
  if (writes.length === 0) return [];
  const again = foundIn('outbox', idsOf(writes));
  return [{ statement: { text: defer, values: [asJson(writes)], again }, read: readDone }];
}

function idsOf(writes: readonly { readonly id: string }[]): readonly string[] {
  return writes.map(({ id }) => id);
}
