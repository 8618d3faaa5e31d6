/** Composes the statements of a batch from its writes, and its result from the answers. */
import { acceptSteps, type AcceptWrite, type Taker } from './accepts.ts';
import {
  deferredSteps,
  sentSteps,
  spentSteps,
  turnSteps,
  type DeferredWrite,
  type SentWrite,
  type SpentWrite,
  type TurnWrite,
} from './turns.ts';
import {
  auditSteps,
  cursorSteps,
  type AuditWrite,
  type CursorWrite,
  type Single,
  type Write,
} from './writes.ts';
import { begunSteps, endedSteps, type BegunWrite, type EndedWrite } from './tool-calls.ts';
import {
  asJson,
  type Composed,
  type Landed,
  type Landing,
  type LockedQueue,
  type Step,
} from './statement.ts';
import type { CursorMove } from '../../ledger.ts';
import { toText, toTextOrNull } from '../server/text.ts';

/** The writes of a batch by kind, each kind in the order in which callers added them. */
type Sorted = {
  readonly single: Single[];
  readonly accept: AcceptWrite[];
  readonly turn: TurnWrite[];
  readonly sent: SentWrite[];
  readonly deferred: DeferredWrite[];
  readonly begun: BegunWrite[];
  readonly ended: EndedWrite[];
  readonly cursor: CursorWrite[];
  readonly audit: AuditWrite[];
  readonly spent: SpentWrite[];
};

export function compose(writes: readonly Write[], taker: Taker): Composed<Landed> {
  const steps = stepsOf(sorted(writes), taker);
  return {
    statements: steps.map(({ statement }) => statement),
    landed(answers) {
      const landing: Landing = {
        queues: new Map(),
        numbers: new Map(),
        known: new Map(),
        done: new Set(),
      };
      for (const [place, { read }] of steps.entries()) read?.(answers[place]!, landing);
      return landing;
    },
  };
}

/** The size of a write in characters; short fields do not count. */
export function sizeOf(write: Write): number {
  if (write.kind === 'accept') return write.body.length;
  if (write.kind === 'begun') return write.arguments.length;
  if (write.kind === 'ended') return write.text.length;
  if (write.kind !== 'turn') return 0;
  const { replies, said, trace, uses, asked = [] } = write;
  const own = (trace?.length ?? 0) + (said?.text.length ?? 0) + (said?.reply?.length ?? 0);
  const answered = replies.reduce((size, { body }) => size + body.length, own);
  const used = uses.reduce((size, use) => size + use.arguments.length, answered);
  return asked.reduce((size, { body }) => size + body.length, used);
}

/**
 * Accepts come first. They lock keys and then queues, each in one order. They also lock the queues
 * that other writes of the batch change. So no two batches wait for each other.
 */
function stepsOf(sets: Sorted, taker: Taker): readonly Step[] {
  return [
    ...acceptSteps(sets.accept, [...lockedBy(sets.single), ...changedBy(sets.turn)], taker),
    ...sets.single.map(singleStep),
    ...begunSteps(sets.begun),
    ...turnSteps(sets.turn),
    ...endedSteps(sets.ended),
    ...sentSteps(sets.sent),
    ...deferredSteps(sets.deferred),
    ...cursorSteps(sets.cursor),
    ...auditSteps(sets.audit),
    ...spentSteps(sets.spent),
  ];
}

/** Most turns do not change the row of their queue. */
function changedBy(turns: readonly TurnWrite[]): readonly LockedQueue[] {
  return turns.flatMap(({ id, queue, channel, conversation }) =>
    queue === null ? [] : [{ id, channel, conversation }],
  );
}

function lockedBy(singles: readonly Single[]): readonly LockedQueue[] {
  return singles.flatMap(({ queues = [] }) => queues);
}

function singleStep({ text, values, again, told }: Single): Step {
  const statement = again === undefined ? { text, values } : { text, values, again };
  return told === undefined ? { statement } : { statement, read: (rows) => told(rows) };
}

function sorted(writes: readonly Write[]): Sorted {
  const sets: Sorted = {
    single: [],
    accept: [],
    turn: [],
    sent: [],
    deferred: [],
    begun: [],
    ended: [],
    cursor: [],
    audit: [],
    spent: [],
  };
  for (const write of writes) (sets[write.kind] as Write[]).push(write);
  return sets;
}

/**
 * A move of a cursor that other instances move too. `expected` is the value before the move. A
 * different value rolls back the whole batch, so such moves form a batch of one caller alone.
 */
type ExpectingMove = CursorMove & { readonly expected: string | null };

/**
 * Waits for another transaction that moves the same cursor. `ln(0)` is an error that no other
 * statement raises: server/errors.ts recognises it as `conflict`.
 */
const expectingMovesText = `
WITH moved AS (
  UPDATE svc.cursor AS was SET value = x.value
  FROM json_to_recordset($1) AS x(channel text COLLATE "C", name text COLLATE "C", value text,
    expected text)
  WHERE was.channel = x.channel AND was.name = x.name AND was.value = x.expected RETURNING 1
), made AS (
  INSERT INTO svc.cursor (channel, name, value)
  SELECT channel, name, value
  FROM json_to_recordset($1) AS x(channel text, name text, value text, expected text)
  WHERE expected IS NULL ON CONFLICT DO NOTHING RETURNING 1
)
SELECT ln(1 - $2::float8 + (SELECT count(*) FROM moved) + (SELECT count(*) FROM made))`;

export function isExpecting(move: CursorMove): move is ExpectingMove {
  return move.expected !== undefined;
}

/** Moves all cursors, or rolls back the batch. The last move of a cursor counts. */
export function expectingMoves(moves: readonly ExpectingMove[]): Single {
  const rows = moves.map(({ channel, name, value, expected }) => {
    return { channel, name, value: toText(value), expected: toTextOrNull(expected) };
  });
  const last = [...new Map(rows.map((row) => [`${row.channel} ${row.name}`, row])).values()];
  return { kind: 'single', text: expectingMovesText, values: [asJson(last), last.length] };
}
