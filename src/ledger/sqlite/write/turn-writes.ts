/**
 * The writes of a finished turn: its history, replies, notes, tool uses, approvals and trace, and
 * the writes of spend.
 */
import type { Message } from '../../../domain/message.ts';
import { unsentText } from '../../engine/bodies.ts';
import { windowsText } from '../../engine/memories.ts';
import type { TurnEnd } from '../../engine/storage.ts';
import type { Effects, Memory, Reserving } from '../../ledger.ts';
import { replyWrite, summaryValues, traceWrite } from './row-codec.ts';
import { labelOf } from '../ledger/sensitivity-labels.ts';
import { statements, type Write, type AskedReservation } from './statements.ts';
import { recordOfAsked } from '../../engine/approvals.ts';
import type { NoteMove, NotesOf } from '../../../domain/note.ts';
import type { BegunCall, ToolUseWithResult } from '../../../domain/tool-use.ts';
import type { DatabaseSync } from 'node:sqlite';
import {
  decide,
  openedParts,
  placesOf,
  priceOf,
  type SpendChange,
  type SpendPlace,
  type SpendTotal,
} from '../../engine/spending.ts';

/**
 * All writes of a turn's end, for one commit.
 * @param memory what the conversation's next turn will see
 * @param traced whether to store its trace
 */
export function turnEndWrites(
  end: TurnEnd,
  memory: Memory,
  traced: boolean,
  nextSeq: () => number,
): readonly Write[] {
  const { row, at, effects, replies } = end;
  const { message, seq } = row;
  const writes = turnWrites(message, seq, memory, effects);
  writes.push(endWrite(end, seq, effects));
  for (const { row: part, trace } of end.joined ?? []) {
    writes.push(endWrite(end, part.seq, { trace }));
    if (trace !== null && traced) writes.push(traceWrite(part.head.id, trace));
  }
  const unsent = unsentText(effects);
  if (unsent !== null) writes.push(['inboxUnsent', unsent, seq]);
  if (effects === null) return writes;
  const { notes, toolUses, trace } = effects;
  if (notes.length > 0) writes.push(...noteWrites(message, notes, nextSeq));
  if (toolUses.length > 0) writes.push(...toolUseWrites(message, toolUses, nextSeq));
  for (const made of replies) writes.push(replyWrite(made.seq, made.reply));
  if (effects.asked !== undefined || effects.settled !== undefined) {
    writes.push(...approvalWrites(effects, at));
  }
  if (trace !== null && traced) writes.push(traceWrite(message.id, trace));
  return writes;
}

function endWrite(
  { at, why }: TurnEnd,
  seq: number,
  effects: Pick<Effects, 'trace'> | null,
): Write {
  const summary = summaryValues(effects);
  if (why === null) return ['inboxSettled', ...summary, at, seq];
  return ['inboxDead', ...summary, at, JSON.stringify(why), seq];
}

/**
 * The writes of the history. The turn's row holds its time and session. The conversation's row is
 * written only in these cases:
 * - There is no turn.
 * - A new session began.
 * - A brain's window was cut.
 * - An earlier message was accepted later, by a clock that has since been set back.
 * A conversation of one message alone has no row.
 * So the newest turn and the conversation's row together give `previousAt`. A quoted block is a
 * turn that nobody said. It takes the place of its message, a command, which has no turn.
 */
function turnWrites(
  { channel, conversation, acceptedAt, sender }: Message,
  seq: number,
  memory: Memory,
  effects: Effects | null,
): Write[] {
  const writes: Write[] = [];
  const { session, previousAt } = memory;
  const { number, startedAt } = session;
  const turn = effects?.turn ?? null;
  const move = effects?.session ?? null;
  const imported = effects?.imported ?? null;
  const lastAt = previousAt ?? acceptedAt;
  const isMoved = move !== null || effects?.window !== undefined;
  const isPlain = turn !== null && !isMoved && lastAt === acceptedAt;
  if (!isPlain && effects?.isOnly !== true) {
    const own = [number, startedAt, lastAt, windowsText(memory)] as const;
    writes.push(['conversation', channel, conversation, ...own]);
  }
  // A session that ends with this turn needs no marks: no later turn sees it.
  if (move === null && effects !== null) {
    const place = [channel, conversation, number] as const;
    for (const { at } of effects.doubted) writes.push(['turnLeftOut', 1, ...place, at]);
    for (const { at } of effects.leftOut) writes.push(['turnLeftOut', 2, ...place, at]);
  }
  if (move !== null) writes.push(['cut', channel, conversation, number, move.at, move.reason]);
  if (imported !== null) {
    const { text, sensitivity } = imported;
    const label = labelOf(sensitivity);
    writes.push(['quoted', channel, conversation, number, seq, acceptedAt, label, text]);
  } else if (turn !== null) {
    const { at, text, reply, sensitivity } = turn;
    const spoken = [labelOf(sensitivity), sender.id, text, reply] as const;
    writes.push(['turn', channel, conversation, number, seq, at, ...spoken]);
  }
  return writes;
}

/** @param at when the turn ended */
function approvalWrites({ asked = [], settled }: Effects, at: number): readonly Write[] {
  const writes = asked.map(recordOfAsked).map((record): Write => {
    const { id, code, channel, conversation, sender, messageId, brain, tool } = record;
    const { private: label, askedAt, expiresAt, body } = record;
    const place = [channel, conversation, sender, messageId, brain, tool] as const;
    return ['approvalAsked', id, code, ...place, label ? 1 : 0, askedAt, expiresAt, body];
  });
  if (settled !== undefined) writes.push(['approvalSettled', at, settled.outcome, settled.id]);
  return writes;
}

// The notes and tool uses of an agent.

/** @param nextSeq numbers the notes in the order of the commits */
function noteWrites(
  { channel, conversation }: Message,
  moves: readonly NoteMove[],
  nextSeq: () => number,
): readonly Write[] {
  return moves.flatMap((move): readonly Write[] => {
    const { scope } = move;
    const of: NotesOf = scope.kind === 'brain' ? scope : { ...scope, channel, conversation };
    if (move.kind === 'clear') return [notesCleared(of, nextSeq())];
    const { note, notesMax } = move;
    const brain = scope.kind === 'brain' ? scope.brain : null;
    return [
      [
        'note',
        nextSeq(),
        brain,
        channel,
        conversation,
        note.at,
        labelOf(note.sensitivity),
        note.text,
      ],
      brain === null
        ? ['notesCut', channel, conversation, notesMax]
        : ['brainNotesCut', brain, notesMax],
    ];
  });
}

/** @param before notes numbered from `before` on stay */
export function notesCleared(of: NotesOf, before: number): Write {
  return of.kind === 'brain'
    ? ['brainNotesCleared', of.brain, before]
    : ['notesCleared', of.channel, of.conversation, before];
}

/** The writes before a call runs: the audit lists it from now on, with an unknown outcome. */
export function begunWrites(
  message: Message,
  { hash, sensitivity, ...use }: BegunCall,
  nextSeq: () => number,
): readonly Write[] {
  return [
    ['toolBegun', use.key, message.id, use.tool, hash, labelOf(sensitivity)],
    ...toolUseWrites(message, [{ ...use, ms: 0, outcome: 'unknown', told: null }], nextSeq),
  ];
}

function toolUseWrites(
  { id, channel, conversation }: Message,
  uses: readonly ToolUseWithResult[],
  nextSeq: () => number,
): readonly Write[] {
  return uses.map((use): Write => {
    const { key, at, ms, tool, mode, rule, outcome, told } = use;
    const place = [nextSeq(), key, id, channel, conversation] as const;
    return ['toolUse', ...place, at, ms, tool, mode, rule, outcome, use.arguments, told];
  });
}

/** The values of a spend write, in the order of its statement. */
type SpendValues = [
  calls: number,
  estimatedCalls: number,
  input: number,
  output: number,
  openInput: number,
  openOutput: number,
  channel: string,
  sender: string,
  day: string,
  brain: string,
  model: string,
  priceInput: string,
  priceOutput: string,
  costs: number,
];
export type SpendWrite = ['spent' | 'spendSettled', ...SpendValues];

export function spendValues(place: SpendPlace, change: SpendChange): SpendValues {
  const { calls, estimatedCalls, input, output, openInput, openOutput } = change;
  const { channel, sender, day, brain, model, priceInput, priceOutput, costs } = place;
  return [
    calls,
    estimatedCalls,
    input,
    output,
    openInput,
    openOutput,
    channel,
    sender,
    day,
    brain,
    model,
    priceInput,
    priceOutput,
    costs ? 1 : 0,
  ];
}

const totals =
  'SELECT price_input, price_output, sum(input + open_input) AS input, ' +
  'sum(output + open_output) AS output FROM spend ' +
  'WHERE channel = ? AND sender = ? AND day = ? AND brain = ? AND costs = 1 ' +
  'GROUP BY price_input, price_output';

/**
 * @returns a function that decides a reservation, and writes it if it fits; call it within a
 * transaction
 */
export function prepareReservations(db: DatabaseSync): (asked: AskedReservation) => Reserving {
  const reading = db.prepare(totals);
  const writing = db.prepare(statements.spent);
  const totalsOf = ({ channel, sender, day, brain }: SpendPlace): readonly SpendTotal[] =>
    reading.all(channel, sender, day, brain).map((row) => ({
      price: priceOf(String(row['price_input']), String(row['price_output'])),
      input: Number(row['input']),
      output: Number(row['output']),
    }));
  return ({ charged, most, limits }) => {
    const [all, own] = placesOf(charged);
    const ofSender = own === undefined ? [] : totalsOf(own);
    const reserving = decide(charged, most, limits, { all: totalsOf(all!), ofSender });
    if (reserving.kind === 'over') return reserving;
    for (const part of openedParts(charged, most)) {
      for (const place of placesOf(part.charged)) writing.run(...spendValues(place, part.change));
    }
    return reserving;
  };
}
