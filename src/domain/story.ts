/** What people read from the ledger: the story of a message, dead letters, conversations. */
import type { CutReason } from './conversation.ts';
import type { Box } from './event.ts';
import type { Failure, FailureKind } from './failure.ts';
import type { ChannelKey, ConversationId, MessageId, ModelName } from './ids.ts';
import type { Message } from './message.ts';
import type { Sensitivity } from './sensitivity.ts';
import type { ToolUseText } from './tool-use.ts';
import type { Trace } from './trace.ts';

/** One conversation, or all conversations of one sender on a channel. */
export type MessageOwner = { readonly channel: ChannelKey } & (
  | { readonly kind: 'conversation'; readonly conversation: ConversationId }
  | { readonly kind: 'sender'; readonly sender: string }
);

export type ConversationKey = {
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
};

/**
 * The most characters of an id that the id cipher makes for a conversation. The webhook accepts ids
 * of 1,024 characters, and JSON may escape each of them.
 */
export const sealedCharactersMax = 8_448;

/** The most messages in one request for their origins: as many as a page of a list has. */
export const originsMax = 200;

/**
 * The sender and the conversation of a message, for operators, without its text. `conversationId`
 * is svc's own id, and stays the same.
 */
export type MessageOrigin = ConversationKey & {
  readonly id: string;
  readonly conversationId: string;
  /** null: the stored sender cannot be read. */
  readonly sender: Message['sender'] | null;
};

/** The most characters of a message's line. */
export const lineCharactersMax = 140;

/** The beginning of a message's text on one line, for operators; empty: it has no words. */
export type MessageLine = {
  readonly id: string;
  readonly line: string;
  readonly sensitivity: Sensitivity;
};

/** One message on one clock (milliseconds since 1970), without any text. */
export type Story = {
  readonly id: string;
  readonly channel: ChannelKey;
  readonly acceptedAt: number;
  readonly state: 'waiting' | 'answered' | 'dead';
  /** How many processes died while the message was next in its conversation. */
  readonly diedUnder: number;
  readonly settledAt: number | null;
  readonly failure: FailureSummary | null;
  /** Null while the message waits, and if svc left the trace out because the storage was behind. */
  readonly trace: Trace | null;
  readonly replies: readonly ReplyStory[];
};

export type ReplyStory = {
  readonly id: string;
  readonly createdAt: number;
  readonly state: 'waiting' | 'delivered' | 'dead';
  readonly attempts: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  /** The time of the next attempt; null: at once, or never. */
  readonly dueAt: number | null;
  readonly settledAt: number | null;
  /** The last attempts whose end svc saw, in their order. */
  readonly tries: readonly DeliveryTry[];
  readonly failure: FailureSummary | null;
};

/** The most attempts that are kept for a reply: the last ones. */
export const triesMax = 16;

/** `failed` null: the reply was delivered. */
export type DeliveryTry = {
  readonly startedAt: number;
  readonly ms: number;
  readonly failed: FailureKind | null;
  readonly status: number | null;
};

export type FailureSummary = Pick<Failure, 'kind' | 'whose' | 'status' | 'detail'>;

/** The answer of a model that did not become the reply, cut. */
export type UnsentAnswer = { readonly model: ModelName; readonly text: string };

export type StoryText = {
  readonly sender: Message['sender'];
  readonly conversation: ConversationId;
  /** As in `ConversationRow`. */
  readonly conversationId: string | null;
  readonly text: string;
  readonly sensitivity: Sensitivity;
  readonly media: Message['media'];
  readonly replies: readonly { readonly id: string; readonly text: string }[];
  /** Best rank first. */
  readonly unsent: readonly UnsentAnswer[];
  /** The tool calls with their arguments. */
  readonly tools: readonly ToolUseText[];
};

/**
 * A dead letter. The parts of a split reply that died together are one dead letter, with the id of
 * the whole reply.
 */
export type DeadLetter = {
  readonly id: string;
  readonly box: Box;
  readonly channel: ChannelKey;
  /** The message itself, or the message that the reply answers. */
  readonly messageId: string;
  readonly acceptedAt: number;
  readonly diedAt: number;
  readonly attempts: number;
  readonly parts: number;
  readonly failure: FailureSummary;
};

export type DeadLetterReason = FailureSummary & { readonly box: Box; readonly count: number };

export type DeadLetterText = DeadLetter & {
  readonly conversation: ConversationId;
  /** As in `ConversationRow`; null as well where nobody's id is kept. */
  readonly conversationId: string | null;
  readonly tries: readonly DeliveryTry[];
  readonly text: string | null;
};

export type ConversationRow = ConversationKey & {
  /** svc's own id, always the same in this database; null: the answering svc is older than that. */
  readonly id: string | null;
  readonly turns: number;
  readonly sessions: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** Messages and replies that are not settled. */
  readonly waiting: number;
};

export type ConversationText = ConversationRow & {
  readonly cuts: readonly {
    readonly session: number;
    readonly at: number;
    readonly reason: CutReason;
  }[];
};

/**
 * `sender` null: a quoted block from an earlier session. `messageId` is the message that was
 * answered; null: no longer known, or there is none.
 */
export type TurnText = ConversationKey & {
  readonly messageId: string | null;
  readonly session: number;
  readonly at: number;
  readonly sender: string | null;
  readonly text: string;
  readonly reply: string | null;
  /** The model whose answer is the reply; null: there is none, or it is no longer kept. */
  readonly model: ModelName | null;
  /** null: no operator answered the message, or that is no longer kept. */
  readonly byHand: Takeovers | null;
};

/**
 * An answer by an operator. `answeredWith`: the later message whose reply answered this one too;
 * null: it has its own reply.
 */
export type Takeovers = { readonly answeredWith: MessageId | null };
