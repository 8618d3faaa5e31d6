/** Rows for an accepted message and for the end of a turn. */
import { recordOfAsked, type AskedRecord } from '../../engine/approvals.ts';
import {
  messageBody,
  replyBody,
  summaryOfTurn,
  traceText,
  unsentText,
} from '../../engine/bodies.ts';
import type { Arrival, TurnEnd } from '../../engine/storage.ts';
import type { Approval } from '../../../domain/approval.ts';
import type { Message } from '../../../domain/message.ts';
import type { NoteMove } from '../../../domain/note.ts';
import type { ToolUseWithResult } from '../../../domain/tool-use.ts';
import { dedupeMsOf } from '../../../channels/registry.ts';
import type { Effects, Memory } from '../../ledger.ts';
import { windowsText } from '../../engine/memories.ts';
import { toText, toTextOrNull } from '../server/text.ts';
import type { AcceptWrite } from './accepts.ts';
import type { ToolUseRow } from './tool-calls.ts';
import type { Single } from './writes.ts';
import type { NoteStep, QueueRow, MarkRow, SaidRow, TurnWrite } from './turns.ts';

export function acceptWrite({ message, dedupeKey, keyCheck }: Arrival): AcceptWrite {
  const { id, channel, conversation, acceptedAt, sender, sensitivity } = message;
  return {
    kind: 'accept',
    id,
    channel,
    conversation: toText(conversation),
    at: acceptedAt,
    sender: toText(sender.id),
    private: sensitivity === 'private',
    body: messageBody(message),
    key: toTextOrNull(dedupeKey),
    expiresAt: acceptedAt + dedupeMsOf(channel),
    fingerprint: keyCheck?.fingerprint ?? null,
  };
}

/** Replaces the stored body of a message that waits, so that it has the preview. */
export function previewedWrite(message: Message): Single {
  const text = 'UPDATE svc.inbox SET body = $2 WHERE id = $1';
  return { kind: 'single', text, values: [message.id, messageBody(message)] };
}

/**
 * @param memory the memory for the next turn of the conversation
 * @param traced whether to store the trace
 */
export function turnWrite(end: TurnEnd, memory: Memory, traced: boolean): TurnWrite {
  const { row, at, why, effects, replies } = end;
  const { message } = row;
  const { brain, outcome, model } = summaryOfTurn(effects);
  const trace = effects?.trace ?? null;
  const move = effects?.session ?? null;
  const { number } = memory.session;
  return {
    kind: 'turn',
    id: message.id,
    channel: message.channel,
    conversation: toText(message.conversation),
    at,
    brain: toTextOrNull(brain),
    outcome,
    model: toTextOrNull(model),
    failure: why === null ? null : JSON.stringify(why),
    trace: trace === null || !traced ? null : traceText(trace),
    unsent: unsentText(effects),
    replies: replies.map(({ reply }) => {
      const { id, address, createdAt } = reply;
      return { id, channel: address.channel, at: createdAt, body: replyBody(reply) };
    }),
    said: saidOf(message, number, effects),
    queue: queueOf(message, memory, effects),
    cut: move === null ? null : { session: number, at: move.at, reason: move.reason },
    marks: marksOf(number, effects),
    uses: (effects?.toolUses ?? []).map(useRow),
    notes: (effects?.notes ?? []).map(noteStep),
    ...(effects?.asked === undefined ? {} : { asked: effects.asked.map(askedRow) }),
    ...(effects?.settled === undefined ? {} : { settled: effects.settled }),
  };
}

const nothing = {
  unsent: null,
  replies: [],
  said: null,
  queue: null,
  cut: null,
  marks: [],
  uses: [],
  notes: [],
} as const;

/**
 * The row of the turn, then one row for each message that was merged into it. A merged message
 * settles together with the turn and writes nothing else.
 */
export function turnWrites(end: TurnEnd, memory: Memory, traced: boolean): readonly TurnWrite[] {
  const whole = turnWrite(end, memory, traced);
  const joined = (end.joined ?? []).map(({ row, trace }): TurnWrite => {
    const { id, channel } = row.message;
    const { brain, outcome, model } = summaryOfTurn({ trace });
    const { kind, conversation, at, failure } = whole;
    return {
      ...nothing,
      kind,
      id,
      with: whole.id,
      channel,
      conversation,
      at,
      failure,
      outcome,
      brain: toTextOrNull(brain),
      model: toTextOrNull(model),
      trace: trace === null || !traced ? null : traceText(trace),
    };
  });
  return [whole, ...joined];
}

/** An imported block becomes a quoted turn. The command that imported it has no turn. */
function saidOf(message: Message, session: number, effects: Effects | null): SaidRow | null {
  const imported = effects?.imported ?? null;
  if (imported !== null) {
    const text = toText(imported.text);
    const label = imported.sensitivity === 'private';
    return { session, at: message.acceptedAt, quoted: true, private: label, text, reply: null };
  }
  const turn = effects?.turn ?? null;
  if (turn === null) return null;
  const { at, text, reply, sensitivity } = turn;
  const texts = { text: toText(text), reply: toTextOrNull(reply) };
  return { session, at, quoted: false, private: sensitivity === 'private', ...texts };
}

/**
 * The turn itself has its time and its session, so most turns leave the row of the queue alone.
 * Four cases need that row: no turn, a new session, a brain that cut its window, and a clock that
 * was set back (then an earlier message has a later time).
 * @returns null in all other cases
 */
function queueOf(
  { acceptedAt }: Message,
  memory: Memory,
  effects: Effects | null,
): QueueRow | null {
  const turn = effects?.turn ?? null;
  const move = effects?.session ?? null;
  const { number, startedAt } = memory.session;
  const lastAt = memory.previousAt ?? acceptedAt;
  const isMoved = move !== null || effects?.window !== undefined;
  if (effects?.isOnly === true) return null;
  if (turn !== null && !isMoved && lastAt === acceptedAt) return null;
  const windows = toTextOrNull(windowsText(memory));
  return { session: number, startedAt, previousAt: lastAt, windows };
}

/** A session that ends with this turn needs no marks: no prompt uses it again. */
function marksOf(session: number, effects: Effects | null): readonly MarkRow[] {
  if (effects === null || effects.session !== null) return [];
  return [
    ...effects.doubted.map(({ at }): MarkRow => ({ session, at, mark: 1 })),
    ...effects.leftOut.map(({ at }): MarkRow => ({ session, at, mark: 2 })),
  ];
}

function noteStep(move: NoteMove): NoteStep {
  const brain = move.scope.kind === 'brain' ? toText(move.scope.brain) : null;
  if (move.kind === 'clear') return { kind: 'clear', brain };
  const { at, text, sensitivity } = move.note;
  const label = sensitivity === 'private';
  return { kind: 'add', brain, at, private: label, text: toText(text), max: move.notesMax };
}

function askedRow(approval: Approval): AskedRecord {
  const record = recordOfAsked(approval);
  const { id, code, conversation, sender, brain, tool } = record;
  return {
    ...record,
    id: toText(id),
    code: toText(code),
    conversation: toText(conversation),
    sender: toText(sender),
    brain: toText(brain),
    tool: toText(tool),
  };
}

export function useRow(use: ToolUseWithResult): ToolUseRow {
  const { key, at, ms, tool, mode, rule, outcome, arguments: given, told } = use;
  const named = { tool: toText(tool), mode, rule: toText(rule), outcome };
  const texts = { arguments: toText(given), told: toTextOrNull(told) };
  return { key: toText(key), at, ms, ...named, ...texts };
}
