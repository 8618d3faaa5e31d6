/**
 * What the end of a turn changes. All of it hangs on the row of the inbox that the statement
 * deletes: where that is gone, nothing of it is written.
 */
import type { AskedRecord } from '../../engine/approval-record.ts';
import type { Effects } from '../../ledger.ts';
import { approvalParts } from './approvals.ts';
import { notesOf, type AddedNote, type NoteStep } from './notes.ts';
import { lastOf, onKnownUse, useColumns, type ToolUseRow } from './small-sets.ts';
import { asJson, foundIn, readDone, type Step } from './writes.ts';

export type TurnWrite = {
  readonly kind: 'turn';
  readonly id: string;
  /** The message with which it is one: where that is gone, this stays. Absent: it stands alone. */
  readonly with?: string;
  readonly channel: string;
  readonly conversation: string;
  readonly at: number;
  readonly brain: string | null;
  readonly outcome: string | null;
  readonly model: string | null;
  /** JSON, as `trace` and `unsent`; null: it is answered. */
  readonly failure: string | null;
  readonly trace: string | null;
  readonly unsent: string | null;
  /** In their order. */
  readonly replies: readonly ReplyRow[];
  readonly said: SaidRow | null;
  readonly queue: QueueRow | null;
  readonly cut: CutRow | null;
  readonly marks: readonly MarkRow[];
  readonly uses: readonly ToolUseRow[];
  readonly notes: readonly NoteStep[];
  /** Absent, as `settled`: the turn has nothing to do with approvals. */
  readonly asked?: readonly AskedRecord[];
  readonly settled?: NonNullable<Effects['settled']>;
};

export type ReplyRow = {
  readonly id: string;
  readonly channel: string;
  readonly at: number;
  readonly body: string;
};

/** A turn, or a quoted block, which nobody said. */
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
  /** As `windowsText` writes them; null: none. */
  readonly windows: string | null;
};

export type CutRow = { readonly session: number; readonly at: number; readonly reason: string };

/** Unanswered turns of a session that are doubted (1), or left out (2). */
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

/** A brain's notes are bound once in a set, so another bound begins another set. */
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
  const kept = notesOf(writes);
  const rows = writes.map((write, place) => rowOf(write, place, kept.rows[place]!));
  const has = (is: (write: TurnWrite) => boolean, part: string): string =>
    writes.some(is) ? part : '';
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
  return [...kept.before, end, ...kept.after];
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

/** What is numbered by the server is numbered in this order. */
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
