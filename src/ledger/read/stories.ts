/** One message, as its rows tell it: what happened to it, and what was said. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Media } from '../../domain/message.ts';
import type { ReplyStory, Story, StoryText } from '../../domain/story.ts';
import { toolUseTextOf, type ToolUseRecord } from './agents.ts';
import type { ConversationIdCipher } from './id-cipher.ts';
import { failureOf, fieldsOf, traceOf, triesOf, unsentOf } from './stored-json.ts';

/** As a database keeps it: 1 and 0, or a boolean. */
export type Flag = boolean | number;

/** A message as its row tells it. state: 0 unsettled, 1 settled, 2 dead. */
export type MessageRecord = {
  readonly id: string;
  readonly channel: string;
  readonly acceptedAt: number;
  readonly state: number;
  readonly diedUnder: number;
  readonly settledAt: number | null;
  readonly failure: string | null;
};

/** A reply as its row tells it, with the same states. */
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
 * @param trace as it was kept; null: there is none
 * @param rows the replies, in the order in which they were made
 */
export function storyOf(
  told: MessageRecord,
  trace: string | null,
  rows: readonly ReplyRecord[],
): Story {
  return {
    id: told.id,
    channel: told.channel as ChannelKey,
    acceptedAt: told.acceptedAt,
    state: states[told.state] ?? 'waiting',
    diedUnder: told.diedUnder,
    settledAt: told.settledAt,
    failure: failureOf(told.failure),
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
    // The column counts the tries that failed.
    attempts: row.attempts + (delivered ? 1 : 0),
    possibleDuplicate: Boolean(row.possibleDuplicate),
    late: Boolean(row.late),
    dueAt: state === 'waiting' ? row.dueAt : null,
    settledAt,
    tries: triesOf(row.tries, seen ? { at: settledAt, ms: tookMs } : null),
    // The reason for putting a reply off is in its tries; the reply itself did not fail.
    failure: delivered ? null : failureOf(row.failure),
  };
}

/** What was said, as its row tells it. */
export type SaidRecord = {
  readonly channel: string;
  readonly conversation: string;
  readonly private: Flag;
  readonly body: string;
  readonly unsent: string | null;
};

/** @returns null where what was said cannot be read any more */
export function storyTextOf(
  idCipher: ConversationIdCipher,
  found: SaidRecord,
  replies: readonly { readonly id: string; readonly body: string }[],
  uses: readonly ToolUseRecord[],
): StoryText | null {
  const said = saidIn(found.body);
  if (said === null) return null;
  const channel = found.channel as ChannelKey;
  const conversation = found.conversation as ConversationId;
  return {
    ...said,
    conversation,
    conversationId: idCipher.idOf({ channel, conversation }),
    sensitivity: found.private ? 'private' : 'public',
    replies: replies.map(({ id, body }) => ({ id, text: textIn(body) ?? '' })),
    unsent: unsentOf(found.unsent),
    tools: uses.map(toolUseTextOf),
  };
}

function saidIn(body: string): Pick<StoryText, 'sender' | 'text' | 'media'> | null {
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

function mediaIn(media: unknown): Media | null {
  if (typeof media !== 'object' || media === null) return null;
  const { type, reference } = media as Readonly<Record<string, unknown>>;
  if (typeof reference !== 'string') return null;
  return { type: typeof type === 'string' ? type : null, reference };
}

/** The text of a message or a reply; null where it cannot be read any more. */
export function textIn(body: string): string | null {
  const { text } = fieldsOf(body);
  return typeof text === 'string' ? text : null;
}
