/** What the ledger tells people: the story of a message, dead letters, conversations. */
import type { CutReason } from './conversation.ts';
import type { Box } from './event.ts';
import type { Failure, FailureKind } from './failure.ts';
import type { ChannelKey, ConversationId, MessageId, ModelName } from './ids.ts';
import type { Message } from './message.ts';
import type { Sensitivity } from './sensitivity.ts';
import type { ToolUseText } from './tool-use.ts';
import type { Trace } from './trace.ts';

/** One conversation, or all that one sender said on a channel. */
export type Whose = { readonly channel: ChannelKey } & (
  | { readonly kind: 'conversation'; readonly conversation: ConversationId }
  | { readonly kind: 'sender'; readonly sender: string }
);

export type ConversationKey = {
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
};

/**
 * The longest id of svc's own that a conversation has: of what the webhook lets through, which is
 * 1,024 characters, each of which JSON may have to escape.
 */
export const sealedCharactersMax = 8_448;

/** At most so many messages are asked about at once: as many as are in a page of a list. */
export const originsMax = 200;

/**
 * Whose message it is: without a text, and an operator's to see. `conversationId` is of svc's own,
 * and stays the same.
 */
export type MessageOrigin = ConversationKey & {
  readonly id: string;
  readonly conversationId: string;
  /** null: what was kept of the sender cannot be read. */
  readonly sender: Message['sender'] | null;
};

/** One message on one clock (milliseconds since 1970), without any text. */
export type Story = {
  readonly id: string;
  readonly channel: ChannelKey;
  readonly acceptedAt: number;
  readonly state: 'waiting' | 'answered' | 'dead';
  /** How often a process died while it was next in its conversation. */
  readonly diedUnder: number;
  readonly settledAt: number | null;
  readonly failure: FailureSummary | null;
  /** Null while it waits, and where it was left out because the storage was behind. */
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
  /** When it is tried again; null: at once, or not any more. */
  readonly dueAt: number | null;
  readonly settledAt: number | null;
  /** The tries whose end was seen, in their order; the last of them. */
  readonly tries: readonly DeliveryTry[];
  readonly failure: FailureSummary | null;
};

/** At most so many of a reply's tries are kept: the last ones. */
export const triesMax = 16;

/** `failed` null: it was delivered. */
export type DeliveryTry = {
  readonly startedAt: number;
  readonly ms: number;
  readonly failed: FailureKind | null;
  readonly status: number | null;
};

export type FailureSummary = Pick<Failure, 'kind' | 'whose' | 'status' | 'detail'>;

/** What a model answered whose answer is not the reply, cut. */
export type UnsentAnswer = { readonly model: ModelName; readonly text: string };

export type StoryText = {
  readonly sender: Message['sender'];
  readonly conversation: ConversationId;
  /** As in a conversation's row. */
  readonly conversationId: string | null;
  readonly text: string;
  /** Its stamp. */
  readonly sensitivity: Sensitivity;
  readonly media: Message['media'];
  readonly replies: readonly { readonly id: string; readonly text: string }[];
  /** Best rank first. */
  readonly unsent: readonly UnsentAnswer[];
  /** The calls of tools, as they were asked for. */
  readonly tools: readonly ToolUseText[];
};

/** The parts of a split reply that died together are one letter; its id is the whole reply's. */
export type DeadLetter = {
  readonly id: string;
  readonly box: Box;
  readonly channel: ChannelKey;
  /** The message itself, or the one that the reply answers. */
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
  /** As in a conversation's row; null as well where nobody's id is kept. */
  readonly conversationId: string | null;
  readonly tries: readonly DeliveryTry[];
  readonly text: string | null;
};

export type ConversationRow = ConversationKey & {
  /** Of svc's own, and always the same in this database; null: svc is older than that. */
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
 * answered; null: it is not known any more, or nobody's.
 */
export type TurnText = ConversationKey & {
  readonly messageId: string | null;
  readonly session: number;
  readonly at: number;
  readonly sender: string | null;
  readonly text: string;
  readonly reply: string | null;
  /** The model whose answer is the reply; null: none is, or that is not kept any more. */
  readonly model: ModelName | null;
  /** null: no operator answered it, or that is not kept any more. */
  readonly byHand: Takeovers | null;
};

/** `answeredWith` that later message, without a reply of its own. */
export type Takeovers = { readonly answeredWith: MessageId | null };
