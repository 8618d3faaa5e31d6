/** From what was gathered to the statements of a flight, and from their answers to what landed. */
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

/** The writes of a group by their kind, each in the order in which they were added. */
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

/** Of what may be long: how many characters it has. */
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
 * Accepts come first: they lock keys and then lanes, each in one order, and with their lanes those
 * that anything else of the flight changes. So no two flights wait for each other.
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

/** Most turns leave the lane's row as it is. */
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
 * Moves of cursors that others may move as well: each says where its cursor must stand. One that
 * stands elsewhere undoes the whole flight, so such moves go with a flight of their caller alone.
 */
type ExpectingMove = CursorMove & { readonly expected: string | null };

/**
 * A cursor that others are moving just now is waited for. The logarithm of nothing is an error that
 * nothing else here makes: see `conflict` in server/errors.ts.
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

/** Moves all, or undoes its flight. Of several moves of one cursor the last one counts. */
export function expectingMoves(moves: readonly ExpectingMove[]): Single {
  const rows = moves.map(({ channel, name, value, expected }) => {
    return { channel, name, value: toText(value), expected: toTextOrNull(expected) };
  });
  const last = [...new Map(rows.map((row) => [`${row.channel} ${row.name}`, row])).values()];
  return { kind: 'single', text: expectingMovesText, values: [asJson(last), last.length] };
}
