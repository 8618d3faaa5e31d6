/**
 * The statements for the end of a turn, for its replies, its notes and its use of models. The end
 * of a turn is one statement that begins by deleting the row of the inbox. Where that row is gone
 * already, the statement writes nothing.
 */
import type { AskedRecord } from '../../engine/approvals.ts';
import type { Effects } from '../../ledger.ts';
import { asJson, foundIn, lastOf, readDone, type Step } from './statement.ts';
import { onKnownUse, useColumns, type ToolUseRow } from './tool-calls.ts';
import { placesOf, type SpendChange, type SpendPlace } from '../../engine/spending.ts';
import type { Charged } from '../../../domain/spend.ts';
import { toText } from '../server/text.ts';

// Replies: delivered, dead, or deferred to another try.

/** A delivered reply, or a dead letter. `failure`: the reason of its death as JSON, else null. */
export type SentWrite = {
  readonly kind: 'sent';
  readonly id: string;
  readonly at: number;
  readonly tookMs: number | null;
  readonly failure: string | null;
  /** The number of the failed attempt; null: none failed. `tried`: that attempt as JSON. */
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
  /** How many of the attempts do not move the reply along its retry schedule. */
  readonly uncounted: number;
  readonly failure: string;
  /** The failed attempt as JSON. */
  readonly tried: string;
};

/** The row keeps the last 16 attempts. */
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

/** The cost of one call to a model. A batch adds up the calls of one place to one row. */
export type SpentWrite = {
  readonly kind: 'spent';
  /** Only this instance changes its rows. */
  readonly instance: number;
  readonly charged: Charged;
  readonly change: SpendChange;
  /** True after a reservation: the rows must exist. If not, they were forgotten and stay so. */
  readonly known: boolean;
};

const spendPlace = 'day, channel, sender, brain, model, "priceInput", "priceOutput", costs';
const spendKey = 'day, channel, sender, brain, model, price_input, price_output, costs, instance';
const sums = 'calls, estimated_calls, input, output, open_input, open_output';
const spendColumns =
  'channel text COLLATE "C", sender text COLLATE "C", day text COLLATE "C", ' +
  'brain text COLLATE "C", model text COLLATE "C", "priceInput" text COLLATE "C", ' +
  '"priceOutput" text COLLATE "C", costs boolean, calls bigint, ' +
  '"estimatedCalls" bigint, input bigint, output bigint, "openInput" bigint, "openOutput" bigint';

/**
 * Adds to the sums of one instance. All statements that change these rows lock them in the order of
 * their keys. A new row never returns a reservation.
 */
const add = `
INSERT INTO svc.spend AS was (${spendKey}, ${sums})
SELECT ${spendPlace}, $2::bigint, calls, "estimatedCalls", input, output, "openInput", "openOutput"
FROM json_to_recordset($1) AS x(${spendColumns})
WHERE NOT $3::boolean OR EXISTS (SELECT 1 FROM svc.spend AS of WHERE of.channel = x.channel
  AND of.sender = x.sender AND of.day = x.day AND of.brain = x.brain AND of.model = x.model
  AND of.price_input = x."priceInput" AND of.price_output = x."priceOutput"
  AND of.costs = x.costs AND of.instance = $2::bigint)
ORDER BY ${spendPlace}
ON CONFLICT (${spendKey}) DO UPDATE SET calls = was.calls + excluded.calls,
  estimated_calls = was.estimated_calls + excluded.estimated_calls,
  input = was.input + excluded.input, output = was.output + excluded.output,
  open_input = greatest(0, was.open_input + excluded.open_input),
  open_output = greatest(0, was.open_output + excluded.open_output)`;

type AddedRow = SpendPlace & SpendChange;

/** @param writes all of one instance; writes for the same row become one row */
export function spentSteps(writes: readonly SpentWrite[]): readonly Step[] {
  const kinds = [false, true].map((known) => writes.filter((write) => write.known === known));
  return kinds.flatMap(([first, ...others]) =>
    first === undefined ? [] : spendStep(first, others),
  );
}

function spendStep(first: SpentWrite, others: readonly SpentWrite[]): Step {
  const rows = new Map<string, AddedRow>();
  for (const { charged, change } of [first, ...others]) {
    for (const at of placesOf(charged)) {
      const stored = storedPlace(at);
      const id = Object.values(stored).join('\0');
      rows.set(id, addedRow(rows.get(id), { ...stored, ...change }));
    }
  }
  const values = [asJson([...rows.values()]), first.instance, first.known];
  return { statement: { text: add, values } };
}

export function storedPlace(at: SpendPlace): SpendPlace {
  const { sender, brain, model } = at;
  return { ...at, sender: toText(sender), brain: toText(brain), model: toText(model) };
}

function addedRow(was: AddedRow | undefined, row: AddedRow): AddedRow {
  if (was === undefined) return row;
  return {
    ...row,
    calls: was.calls + row.calls,
    estimatedCalls: was.estimatedCalls + row.estimatedCalls,
    input: was.input + row.input,
    output: was.output + row.output,
    openInput: was.openInput + row.openInput,
    openOutput: was.openOutput + row.openOutput,
  };
}

export type TurnWrite = {
  readonly kind: 'turn';
  readonly id: string;
  /** Id of the message this one was merged with; if that row is gone, this row stays. */
  readonly with?: string;
  readonly channel: string;
  readonly conversation: string;
  readonly at: number;
  readonly brain: string | null;
  readonly outcome: string | null;
  readonly model: string | null;
  /** As JSON, like `trace` and `unsent`. Null: the message is answered. */
  readonly failure: string | null;
  readonly trace: string | null;
  readonly unsent: string | null;
  /** In the order of delivery. */
  readonly replies: readonly ReplyRow[];
  readonly said: SaidRow | null;
  readonly queue: QueueRow | null;
  readonly cut: CutRow | null;
  readonly marks: readonly MarkRow[];
  readonly uses: readonly ToolUseRow[];
  readonly notes: readonly NoteStep[];
  /** The approvals that the turn asks for. `settled`: the approval that it follows up. */
  readonly asked?: readonly AskedRecord[];
  readonly settled?: NonNullable<Effects['settled']>;
};

export type ReplyRow = {
  readonly id: string;
  readonly channel: string;
  readonly at: number;
  readonly body: string;
};

/** One turn of the history. `quoted`: a block of imported text without a sender. */
export type SaidRow = {
  readonly session: number;
  readonly at: number;
  readonly quoted: boolean;
  readonly private: boolean;
  readonly text: string;
  readonly reply: string | null;
};

export type QueueRow = {
  readonly session: number;
  readonly startedAt: number;
  readonly previousAt: number;
  /** The text of `windowsText`; null: no brain has cut its window. */
  readonly windows: string | null;
};

export type CutRow = { readonly session: number; readonly at: number; readonly reason: string };

/** A mark on an unanswered turn of the history: `doubted` (1), or left out of prompts (2). */
export type MarkRow = { readonly session: number; readonly at: number; readonly mark: 1 | 2 };

const columns = `x(place integer, id text COLLATE "C", at bigint, brain text, outcome text,
  model text, failure text, trace text, unsent text, replies json, session integer, said_at bigint,
  quoted boolean, said_private boolean, text text, reply text, lane_session integer,
  started_at bigint, previous_at bigint, windows text, cut_session integer, cut_at bigint,
  cut_reason text, marks json, uses json, notes json, asked json, settled json, joined_to text)`;

const gone = `
WITH gone AS (
  DELETE FROM svc.inbox AS was USING json_to_recordset($1) AS ${columns}
  WHERE was.id = x.id
    AND (x.joined_to IS NULL OR EXISTS (SELECT FROM svc.inbox AS one WHERE one.id = x.joined_to))
  RETURNING was.channel, was.conversation, was.n, was.accepted_at, was.sender, was.private,
    was.replayed, was.attempts, was.body, x.*
), settled AS (
  INSERT INTO svc.message (id, channel, conversation, n, accepted_at, sender, private, replayed,
    attempts, settled_at, brain, outcome, model, failure, trace, unsent, body)
  SELECT id, channel, conversation, n, accepted_at, sender, private, replayed, attempts, at, brain,
    outcome, model, failure, trace, unsent, body FROM gone
)`;

const answered = `, answered AS (
  INSERT INTO svc.outbox (id, channel, conversation, created_at, message_id, body)
  SELECT one.id, one.channel, gone.conversation, one.at, gone.id, one.body
  FROM gone CROSS JOIN LATERAL
    json_to_recordset(gone.replies) AS one(place integer, id text, channel text, at bigint,
      body text)
  ORDER BY gone.place, one.place
)`;

const said = `, said AS (
  INSERT INTO svc.turn (channel, conversation, session, n, message_id, at, sender, private, text,
    reply)
  SELECT channel, conversation, session, n, id, said_at,
    CASE WHEN quoted THEN NULL ELSE sender END, said_private, text, reply
  FROM gone WHERE session IS NOT NULL
)`;

const moved = `, moved AS (
  UPDATE svc.lane AS lane SET session = gone.lane_session, started_at = gone.started_at,
    previous_at = gone.previous_at, windows = gone.windows
  FROM gone WHERE gone.lane_session IS NOT NULL
    AND lane.channel = gone.channel AND lane.conversation = gone.conversation
)`;

const cut = `, cut AS (
  INSERT INTO svc.cut (channel, conversation, session, at, reason)
  SELECT channel, conversation, cut_session, cut_at, cut_reason FROM gone
  WHERE cut_session IS NOT NULL
  ON CONFLICT (channel, conversation, session) DO UPDATE SET at = excluded.at,
    reason = excluded.reason
)`;

const marked = `, marked AS (
  UPDATE svc.turn AS turn SET left_out = one.mark
  FROM gone CROSS JOIN LATERAL
    json_to_recordset(gone.marks) AS one(session integer, at bigint, mark smallint)
  WHERE turn.channel = gone.channel AND turn.conversation = gone.conversation
    AND turn.session = one.session AND turn.at = one.at
    AND turn.reply IS NULL AND turn.sender IS NOT NULL
)`;

const used = `, used AS (
  INSERT INTO svc.tool_use AS was (${useColumns})
  SELECT one.key, gone.id, gone.channel, gone.conversation, one.at, one.ms, one.tool, one.mode,
    one.rule, one.outcome, one.arguments, one.told
  FROM gone CROSS JOIN LATERAL json_to_recordset(gone.uses) AS one(place integer, key text,
    at bigint, ms double precision, tool text, mode text, rule text, outcome text, arguments text,
    told text)
  ORDER BY gone.place, one.place
  ${onKnownUse}
)`;

const noted = `, noted AS (
  INSERT INTO svc.note (brain, channel, conversation, message_id, at, private, text)
  SELECT one.brain, gone.channel, gone.conversation, gone.id, one.at, one.private, one.text
  FROM gone CROSS JOIN LATERAL
    json_to_recordset(gone.notes) AS one(place integer, brain text, at bigint, private boolean,
      text text)
  ORDER BY gone.place, one.place
)`;

export function turnSteps(writes: readonly TurnWrite[]): readonly Step[] {
  return setsOf(writes).flatMap(setSteps);
}

/** A set bounds the notes of a brain once. A write with another bound begins a new set. */
function setsOf(writes: readonly TurnWrite[]): readonly (readonly TurnWrite[])[] {
  const sets: TurnWrite[][] = [];
  let bounds = new Map<string, number>();
  for (const write of writes) {
    const added = write.notes.flatMap((step) =>
      step.kind === 'add' && step.brain !== null ? [[step.brain, step.max] as const] : [],
    );
    const isOther = added.some(([brain, max]) => (bounds.get(brain) ?? max) !== max);
    if (isOther) bounds = new Map();
    if (isOther || sets.length === 0) sets.push([]);
    sets.at(-1)!.push(write);
    for (const [brain, max] of added) bounds.set(brain, max);
  }
  return sets;
}

function setSteps(writes: readonly TurnWrite[]): readonly Step[] {
  const noteSets = notesOf(writes);
  const rows = writes.map((write, place) => rowOf(write, place, noteSets.rows[place]!));
  const has = (isPresent: (write: TurnWrite) => boolean, part: string): string =>
    writes.some(isPresent) ? part : '';
  const text =
    gone +
    has(({ replies }) => replies.length > 0, answered) +
    has((write) => write.said !== null, said) +
    has(({ queue }) => queue !== null, moved) +
    has((write) => write.cut !== null, cut) +
    has(({ marks }) => marks.length > 0, marked) +
    has(({ uses }) => uses.length > 0, used) +
    has(({ notes }) => notes.length > 0, noted) +
    has((write) => write.asked !== undefined, approvalParts.asked) +
    has((write) => write.settled !== undefined, approvalParts.settled) +
    '\nSELECT id FROM gone';
  const again = foundIn(
    'message',
    writes.map(({ id }) => id),
  );
  const end = { statement: { text, values: [asJson(rows)], again }, read: readDone };
  return [...noteSets.before, end, ...noteSets.after];
}

function rowOf(write: TurnWrite, place: number, notes: readonly AddedNote[]): object {
  const { id, at, brain, outcome, model, failure, trace, unsent, replies, said: turn } = write;
  const { queue, marks } = write;
  const uses = lastOf(write.uses, ({ key }) => key);
  return {
    place,
    id,
    at,
    brain,
    outcome,
    model,
    failure,
    trace,
    ...(unsent === null ? {} : { unsent }),
    replies: placed(replies),
    marks,
    uses: placed(uses),
    ...(turn === null ? {} : saidFields(turn)),
    ...(queue === null ? {} : queueFields(queue)),
    ...(write.cut === null ? {} : cutFields(write.cut)),
    notes: placed(notes),
    ...(write.asked === undefined ? {} : { asked: write.asked }),
    ...(write.settled === undefined ? {} : { settled: write.settled }),
    ...(write.with === undefined ? {} : { joined_to: write.with }),
  };
}

/** The server numbers the rows in the order of `place`. */
function placed(rows: readonly object[]): readonly object[] {
  return rows.map((row, place) => ({ ...row, place }));
}

function saidFields({ session, at, quoted, private: label, text, reply }: SaidRow): object {
  return { session, said_at: at, quoted, said_private: label, text, reply };
}

function queueFields({ session, startedAt, previousAt, windows }: QueueRow): object {
  return { lane_session: session, started_at: startedAt, previous_at: previousAt, windows };
}

function cutFields({ session, at, reason }: CutRow): object {
  return { cut_session: session, cut_at: at, cut_reason: reason };
}

// Parts of the statement that ends turns: new approvals, and the approval that is now settled.

const approvalsColumns =
  'id, code, state, channel, conversation, sender, message_id, brain, tool, private, asked_at, ' +
  'expires_at, body';

const asked = `, asked AS (
  INSERT INTO svc.approval (${approvalsColumns})
  SELECT one.id, one.code, 'waiting', one.channel, one.conversation, one.sender, one."messageId",
    one.brain, one.tool, one.private, one."askedAt", one."expiresAt", one.body
  FROM gone CROSS JOIN LATERAL json_to_recordset(gone.asked) AS one(id text, code text,
    channel text, conversation text, sender text, "messageId" text, brain text, tool text,
    private boolean, "askedAt" bigint, "expiresAt" bigint, body text)
  ON CONFLICT (id) DO NOTHING
)`;

const settled = `, followed AS (
  UPDATE svc.approval AS approval
  SET settled_at = gone.at, outcome = gone.settled ->> 'outcome'
  FROM gone WHERE approval.id = (gone.settled ->> 'id') COLLATE "C"
    AND approval.state <> 'waiting' AND approval.settled_at IS NULL
)`;

export const approvalParts = { asked, settled };

// Notes: turns add and clear them, and a bound keeps the newest.

/** One change of notes. `brain` null: the notes of the conversation itself. */
export type NoteStep =
  | {
      readonly kind: 'add';
      readonly brain: string | null;
      readonly at: number;
      readonly private: boolean;
      readonly text: string;
      readonly max: number;
    }
  | { readonly kind: 'clear'; readonly brain: string | null };

/** SQL conditions: the notes of a brain, or those of the conversation of a message. */
const ofBrain = 'brain = $1';
const ofConversation = (table: string): string =>
  'brain IS NULL AND (channel, conversation) = ' +
  `(SELECT channel, conversation FROM svc.${table} WHERE id = $1)`;

const clearBrain = `
DELETE FROM svc.note WHERE ${ofBrain} AND EXISTS (SELECT 1 FROM svc.inbox WHERE id = $2)`;
const clearConversation = `DELETE FROM svc.note WHERE ${ofConversation('inbox')}`;

/** Keeps the newest `$2` notes. */
const boundConversation = `
DELETE FROM svc.note WHERE ${ofConversation('message')} AND seq <=
  (SELECT seq FROM svc.note WHERE ${ofConversation('message')}
  ORDER BY seq DESC LIMIT 1 OFFSET $2)`;

/** Deletes the oldest notes of the conversations that have the most. */
const boundBrain = `
DELETE FROM svc.note WHERE seq IN (
  SELECT seq FROM (
    SELECT seq, row_number() OVER (PARTITION BY channel, conversation ORDER BY seq DESC) AS place
    FROM svc.note WHERE ${ofBrain}
  ) AS placed
  ORDER BY place DESC, seq
  LIMIT greatest(0, (SELECT count(*) FROM svc.note WHERE ${ofBrain}) - $2::bigint)
)`;

type NotingTurn = { readonly id: string; readonly notes: readonly NoteStep[] };

export type AddedNote = Extract<NoteStep, { kind: 'add' }>;

/**
 * Splits the notes of turns into statements before the set, rows in it, and bounds after it.
 *
 * A batch has one turn of a conversation, so clearing a conversation drops only rows that this turn
 * added. Clearing a brain also drops rows that other turns of the batch added.
 */
export function notesOf(writes: readonly NotingTurn[]): {
  readonly before: readonly Step[];
  readonly rows: readonly (readonly AddedNote[])[];
  readonly after: readonly Step[];
} {
  const before: Step[] = [];
  const rows: (readonly AddedNote[])[] = [];
  const bounds = new Map<string, Step>();
  for (const { id, notes } of writes) {
    let own: readonly AddedNote[] = [];
    for (const step of notes) {
      if (step.kind === 'add') {
        own = [...own, step];
        bounds.set(step.brain ?? `\0${id}`, boundStep(step, id));
        continue;
      }
      before.push(clearStep(step.brain, id));
      own = own.filter(({ brain }) => brain !== step.brain);
      if (step.brain === null) continue;
      for (const [place, earlier] of rows.entries()) {
        rows[place] = earlier.filter(({ brain }) => brain !== step.brain);
      }
    }
    rows.push(own);
  }
  return { before, rows, after: [...bounds.values()] };
}

function boundStep({ brain, max }: AddedNote, id: string): Step {
  const statement =
    brain === null
      ? { text: boundConversation, values: [id, max] }
      : { text: boundBrain, values: [brain, max] };
  return { statement };
}

function clearStep(brain: string | null, id: string): Step {
  return {
    statement:
      brain === null
        ? { text: clearConversation, values: [id] }
        : { text: clearBrain, values: [brain, id] },
  };
}
