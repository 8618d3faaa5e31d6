/**
 * Makes what a reader answers from the rows of a database: stories, lists, conversations, tool
 * uses, operator actions and dead letters.
 */
import {
  timeOfId,
  type ChannelKey,
  type ConversationId,
  type ModelName,
} from '../../domain/ids.ts';
import type { Media } from '../../domain/message.ts';
import {
  triesMax,
  type ReplyStory,
  type Story,
  type StoryText,
  type ConversationRow,
  type TurnText,
  type DeadLetter,
  type DeadLetterText,
  lineCharactersMax,
  type MessageLine,
  type MessageOrigin,
} from '../../domain/story.ts';
import type { ConversationIdCipher } from './id-cipher.ts';
import {
  failureOf,
  fieldsOf,
  traceOf,
  triesOf,
  unsentOf,
  takeoverOf,
  reasonOf,
} from './stored-json.ts';
import {
  isInState,
  isOnChannel,
  messageStates,
  totalOf,
  type MessageFilter,
  type MessageRow,
  type ReplyCounts,
  type DeliveryFilter,
  type DeliveryRow,
  type DeliveryState,
} from '../../domain/records.ts';
import { turnOutcomes } from '../../domain/trace.ts';
import {
  grantModes,
  toolOutcomes,
  type ToolUseRow,
  type ToolUseText,
} from '../../domain/tool-use.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { Box } from '../../domain/event.ts';
import { wholeIdLength } from '../engine/queue.ts';

/** A boolean as the database stores it: 1 and 0, or a boolean. */
export type Flag = boolean | number;

/** A row of a message. `state`: 0 unsettled, 1 settled, 2 dead. */
export type MessageRecord = {
  readonly id: string;
  readonly channel: string;
  readonly acceptedAt: number;
  readonly state: number;
  readonly diedUnder: number;
  readonly settledAt: number | null;
  readonly failure: string | null;
};

/** A row of a reply, with the same states. */
export type ReplyRecord = {
  readonly id: string;
  readonly createdAt: number;
  readonly state: number;
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly late: Flag;
  readonly possibleDuplicate: Flag;
  readonly settledAt: number | null;
  readonly tookMs: number | null;
  readonly tries: string | null;
  readonly failure: string | null;
};

const states = ['waiting', 'answered', 'dead'] as const;
const replyStates = ['waiting', 'delivered', 'dead'] as const;

/**
 * @param trace the stored trace; null: there is none
 * @param rows the replies, in the order in which they were made
 */
export function storyOf(
  record: MessageRecord,
  trace: string | null,
  rows: readonly ReplyRecord[],
): Story {
  return {
    id: record.id,
    channel: record.channel as ChannelKey,
    acceptedAt: record.acceptedAt,
    state: states[record.state] ?? 'waiting',
    diedUnder: record.diedUnder,
    settledAt: record.settledAt,
    failure: failureOf(record.failure),
    trace: traceOf(trace),
    replies: rows.map(replyStory),
  };
}

function replyStory(row: ReplyRecord): ReplyStory {
  const state = replyStates[row.state] ?? 'waiting';
  const { settledAt, tookMs } = row;
  const delivered = state === 'delivered';
  const seen = delivered && settledAt !== null && tookMs !== null;
  return {
    id: row.id,
    createdAt: row.createdAt,
    state,
    // The column counts the failed attempts.
    attempts: row.attempts + (delivered ? 1 : 0),
    possibleDuplicate: Boolean(row.possibleDuplicate),
    late: Boolean(row.late),
    dueAt: state === 'waiting' ? row.dueAt : null,
    settledAt,
    tries: triesOf(row.tries, seen ? { at: settledAt, ms: tookMs } : null),
    // The reason for deferring a reply is in its attempts; the reply itself did not fail.
    failure: delivered ? null : failureOf(row.failure),
  };
}

/** The text columns of a message. */
export type SaidRecord = {
  readonly channel: string;
  readonly conversation: string;
  readonly private: Flag;
  readonly body: string;
  readonly unsent: string | null;
};

/** @returns null when the stored text cannot be read any more */
export function storyTextOf(
  idCipher: ConversationIdCipher,
  record: SaidRecord,
  replies: readonly { readonly id: string; readonly body: string }[],
  uses: readonly ToolUseRecord[],
): StoryText | null {
  const said = messageTextIn(record.body);
  if (said === null) return null;
  const channel = record.channel as ChannelKey;
  const conversation = record.conversation as ConversationId;
  return {
    ...said,
    conversation,
    conversationId: idCipher.idOf({ channel, conversation }),
    sensitivity: record.private ? 'private' : 'public',
    replies: replies.map(({ id, body }) => ({ id, text: textIn(body) ?? '' })),
    unsent: unsentOf(record.unsent),
    tools: uses.map(toolUseTextOf),
  };
}

function messageTextIn(body: string): Pick<StoryText, 'sender' | 'text' | 'media'> | null {
  const { sender, text, media } = fieldsOf(body);
  if (typeof text !== 'string' || typeof sender !== 'object' || sender === null) return null;
  const { id, name } = sender as Readonly<Record<string, unknown>>;
  if (typeof id !== 'string') return null;
  return {
    sender: { id, name: typeof name === 'string' ? name : null },
    text,
    media: mediaIn(media),
  };
}

/** How much of a stored message is read for its line. It begins with the sender and the text. */
export const lineBodyCharacters = 16_384;

/** `body`: the first characters of the stored message. */
export type LineRecord = {
  readonly id: string;
  readonly private: Flag;
  readonly body: string;
};

/** The text at the beginning of a body, after the sender. A quote inside a value is escaped. */
const textBegins = /^[^{]*\{"sender":.*?"text":"((?:[^"\\]|\\(?:u[\da-fA-F]{4}|[^u])){0,2000})/s;
/** Characters without a sign (`DI`), but for those that change their neighbours, as in emoji. */
const unseen = /(?![\p{Join_C}\p{VS}\u{e0020}-\u{e007f}])\p{DI}/gu;
const tooLong = new RegExp(`^(.{${lineCharactersMax - 1}})..`, 'su');

/** @returns the rows that can be read, in the order of the ids */
export function linesOf(
  messageIds: readonly string[],
  records: readonly LineRecord[],
): readonly MessageLine[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  return messageIds.flatMap((id) => {
    const record = byId.get(id);
    const said = record === undefined ? undefined : textBegins.exec(record.body)?.[1];
    if (record === undefined || said === undefined) return [];
    const text = fieldsOf(`{"text":"${said}"}`)['text'];
    if (typeof text !== 'string') return [];
    return [{ id, line: lineOf(text), sensitivity: record.private ? 'private' : 'public' }];
  });
}

function lineOf(text: string): string {
  const line = text
    .toWellFormed()
    .replace(unseen, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const beginning = tooLong.exec(line)?.[1];
  return beginning === undefined ? line : `${beginning}…`;
}

function mediaIn(media: unknown): Media | null {
  if (typeof media !== 'object' || media === null) return null;
  const { type, reference } = media as Readonly<Record<string, unknown>>;
  if (typeof reference !== 'string') return null;
  return { type: typeof type === 'string' ? type : null, reference };
}

/** The text of a message or a reply; null when it cannot be read any more. */
export function textIn(body: string): string | null {
  const { text } = fieldsOf(body);
  return typeof text === 'string' ? text : null;
}

// Messages in a list.

/** A row of a message in a list. `state`: 0 unsettled, 1 settled, 2 dead. */
export type MessageSummary = {
  readonly id: string;
  readonly channel: string;
  readonly acceptedAt: number;
  readonly state: number;
  readonly settledAt: number | null;
  readonly brain: string | null;
  readonly outcome: string | null;
  readonly model: string | null;
};

export function fitsMessage(filter: MessageFilter, row: MessageSummary): boolean {
  return (
    isOnChannel(row.channel as ChannelKey, filter.channel) &&
    (filter.brain === null || row.brain === filter.brain) &&
    (filter.outcome === null || row.outcome === filter.outcome) &&
    isInState(messageStates[row.state] ?? 'waiting', row.outcome, filter.state)
  );
}

/** A reply to a listed message. `state`: as of a message; `at`: when it was settled. */
export type ReplySummary = { readonly state: number; readonly at: number | null };

/** @param sent the replies to the message */
export function messageRowOf(summary: MessageSummary, sent: readonly ReplySummary[]): MessageRow {
  const { id, acceptedAt, settledAt, brain } = summary;
  const state = messageStates[summary.state] ?? 'waiting';
  const counted = (wanted: number): number => sent.filter((one) => one.state === wanted).length;
  const replies: ReplyCounts = { waiting: counted(0), delivered: counted(1), dead: counted(2) };
  const ends = sent.flatMap(({ state: how, at }) => (how === 1 && at !== null ? [at] : []));
  return {
    id,
    channel: summary.channel as ChannelKey,
    brain,
    acceptedAt,
    state,
    outcome: turnOutcomes.find((known) => known === summary.outcome) ?? null,
    model: summary.model as ModelName | null,
    settledAt,
    totalMs: totalOf({ state, acceptedAt }, replies, ends.length === 0 ? null : Math.max(...ends)),
    replies,
  };
}

// Replies in a list.

/** A row of a reply in a list. `state`: 0 unsettled, 1 delivered, 2 dead. */
export type DeliveryRecord = {
  readonly id: string;
  readonly message: string | null;
  readonly channel: string;
  readonly createdAt: number;
  readonly state: number;
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly late: Flag;
  readonly possibleDuplicate: Flag;
  readonly failure: string | null;
};

export function fitsDelivery({ channel, state }: DeliveryFilter, row: DeliveryRecord): boolean {
  return (
    isOnChannel(row.channel as ChannelKey, channel) && (state === null || stateOf(row) === state)
  );
}

function stateOf({ state, dueAt }: DeliveryRecord): DeliveryState {
  if (state === 1) return 'delivered';
  if (state === 2) return 'dead';
  return dueAt === null ? 'waiting' : 'deferred';
}

export function deliveryOf(record: DeliveryRecord): DeliveryRow {
  const { id, message, createdAt, attempts, dueAt } = record;
  const state = stateOf(record);
  return {
    id,
    message,
    channel: record.channel as ChannelKey,
    createdAt,
    state,
    // The column counts the failed attempts.
    attempts: attempts + (state === 'delivered' ? 1 : 0),
    nextAt: state === 'deferred' ? dueAt : null,
    possibleDuplicate: Boolean(record.possibleDuplicate),
    late: Boolean(record.late),
    failure: state === 'delivered' ? null : failureOf(record.failure),
  };
}

// Conversations and their turns.

/** Times are milliseconds since 1970. */
export type Span = { readonly firstAt: number; readonly lastAt: number };
/** The turns kept; without turns the times mean nothing. */
export type SpokenRecord = Span & { readonly turns: number; readonly session: number | null };
/** The session cut, which is kept besides the turns. */
export type CutRecord = Span & { readonly session: number };
/** Unsettled messages. */
export type WaitingRecord = Span & { readonly count: number };

/** At most this many cuts are listed: the newest. */
export const cutsMax = 500;

/** @returns a row without finite times if nothing is kept */
export function conversationOf(
  idCipher: ConversationIdCipher,
  where: { readonly channel: string; readonly conversation: string },
  spoken: SpokenRecord,
  cut: CutRecord | null,
  waiting: WaitingRecord | null,
): ConversationRow {
  const seen = [spoken.turns > 0 ? spoken : null, cut, waiting];
  const spans = seen.filter((one) => one !== null);
  const { channel, conversation } = where as { channel: ChannelKey; conversation: ConversationId };
  return {
    id: idCipher.idOf({ channel, conversation }),
    channel,
    conversation,
    turns: spoken.turns,
    sessions: Math.max(1, spoken.session ?? 1, cut?.session ?? 1),
    firstAt: Math.min(...spans.map(({ firstAt }) => firstAt)),
    lastAt: Math.max(...spans.map(({ lastAt }) => lastAt)),
    waiting: waiting?.count ?? 0,
  };
}

/** `handTrace`: the stored trace of a turn that an operator answered. */
export type SpokenTurn = Omit<TurnText, 'byHand'> & { readonly handTrace: string | null };

/** @param record may have more fields than the result */
export function turnText(record: SpokenTurn): TurnText {
  const { channel, conversation, messageId, session, at, sender, text, reply, model } = record;
  // A turn without a sender is a quoted block and answers no message.
  const answered = sender === null || messageId === '' ? null : messageId;
  const turn = { channel, conversation, messageId: answered, session, at, sender, text, reply };
  return { ...turn, model, byHand: takeoverOf(record.handTrace) };
}

/** A row of a tool use. */
export type ToolUseRecord = {
  readonly seq: number;
  readonly key: string;
  readonly messageId: string;
  readonly channel: string;
  readonly conversation: string;
  readonly at: number;
  readonly ms: number;
  readonly tool: string;
  readonly mode: string;
  readonly rule: string;
  readonly outcome: string;
  readonly arguments: string;
  readonly told: string | null;
};

export function toolUseOf(record: ToolUseRecord): ToolUseRow {
  const { key, messageId, channel, at, ms, tool, mode, rule, outcome } = record;
  return {
    key,
    messageId,
    channel: channel as ChannelKey,
    at,
    ms,
    tool,
    mode: grantModes.find((known) => known === mode) ?? 'deny',
    rule,
    outcome: toolOutcomes.find((known) => known === outcome) ?? 'unknown',
  };
}

export function toolUseTextOf(record: ToolUseRecord): ToolUseText {
  const conversation = record.conversation as ConversationId;
  return { ...toolUseOf(record), conversation, arguments: record.arguments, told: record.told };
}

// Operator actions.

/** `target`: a JSON object of ids by name. */
export type AuditRecord = Omit<AuditRow, 'target'> & { readonly target: string };

export function auditRowOf({ at, action, target, status, reason }: AuditRecord): AuditRow {
  const named = Object.entries(fieldsOf(target)).map(([name, value]) => [name, String(value)]);
  return {
    at,
    action,
    target: Object.fromEntries(named) as AuditRow['target'],
    status,
    reason,
  };
}

// Dead letters, made from the rows of their parts.

/** A row of a dead message, a dead reply, or a part of one. */
export type DeadRecord = {
  readonly box: Box;
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly messageId: string;
  readonly acceptedAt: number | null;
  readonly diedAt: number;
  readonly attempts: number;
  readonly tries: string | null;
  readonly failure: string | null;
  readonly body: string;
};

/**
 * @param last the part that died last
 * @param parts in their order
 */
export function letterTextOf(
  idCipher: ConversationIdCipher,
  last: DeadRecord,
  parts: readonly DeadRecord[],
): DeadLetterText {
  const texts = parts.map(({ body }) => textIn(body)).filter((text) => text !== null);
  const letter = letterOf(last, parts);
  const conversation = last.conversation as ConversationId;
  return {
    ...letter,
    conversation,
    conversationId: idCipher.idOf({ channel: letter.channel, conversation }),
    tries: parts.flatMap(({ tries }) => triesOf(tries)).slice(-triesMax),
    text: texts.length === 0 ? null : texts.join('\n'),
  };
}

/** @param row the part that died last */
export function letterOf(row: DeadRecord, parts: readonly DeadRecord[]): DeadLetter {
  return {
    id: row.id.slice(0, wholeIdLength),
    box: row.box,
    channel: row.channel as ChannelKey,
    messageId: row.messageId,
    acceptedAt: row.acceptedAt ?? timeOfId(row.messageId),
    diedAt: row.diedAt,
    attempts: Math.max(...parts.map(attemptsOfDead)),
    parts: parts.length,
    failure: reasonOf(row.failure),
  };
}

/**
 * The column of a message counts the attempts during which the process died, but not the final one.
 */
function attemptsOfDead({ box, attempts, failure }: DeadRecord): number {
  return box === 'in' && reasonOf(failure).kind === 'fault' ? attempts + 1 : attempts;
}

// Senders and conversations of messages.

/** `sender`: a JSON object; null: it cannot be read. */
export type OriginRecord = {
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly sender: string | null;
};

export function originOf(idCipher: ConversationIdCipher, record: OriginRecord): MessageOrigin {
  const channel = record.channel as ChannelKey;
  const conversation = record.conversation as ConversationId;
  const conversationId = idCipher.idOf({ channel, conversation });
  return { id: record.id, channel, conversation, conversationId, sender: senderIn(record.sender) };
}

function senderIn(kept: string | null): MessageOrigin['sender'] {
  const { id, name } = kept === null ? {} : fieldsOf(kept);
  if (typeof id !== 'string') return null;
  return { id, name: typeof name === 'string' ? name : null };
}
