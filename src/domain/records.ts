/** What the ledger lists of what went through it: states and times, no text and nobody's id. */
import type { FailureKind } from './failure.ts';
import { channelTypeOf, type ChannelKey, type ModelName } from './ids.ts';
import type { FailureSummary, Story } from './story.ts';
import type { TurnOutcome } from './trace.ts';

export const messageStates = ['waiting', 'answered', 'dead'] as const;

/** Null: any. */
export type MessageFilter = {
  /** A channel by its key, or all bots of a messenger by its type. */
  readonly channel: string | null;
  readonly brain: string | null;
  readonly state: (typeof messageStates)[number] | null;
  readonly outcome: TurnOutcome | null;
  /** Accepted at this time or later; milliseconds since 1970. */
  readonly since: number | null;
  /** Accepted before this time. */
  readonly until: number | null;
};

export const anyMessage: MessageFilter = {
  channel: null,
  brain: null,
  state: null,
  outcome: null,
  since: null,
  until: null,
};

/** Brain and outcome are null while it waits, and where it died without a turn. */
export type MessageRow = Pick<Story, 'id' | 'channel' | 'acceptedAt' | 'state' | 'settledAt'> & {
  readonly brain: string | null;
  readonly outcome: TurnOutcome | null;
  /** The model whose answer is the reply. */
  readonly model: ModelName | null;
  /** From its acceptance to the last delivery; null while a reply waits, or where none arrived. */
  readonly totalMs: number | null;
  /** Each part of a split reply counts. */
  readonly replies: ReplyCounts;
};

export type ReplyCounts = {
  readonly waiting: number;
  readonly delivered: number;
  readonly dead: number;
};

/** `deferred`: a try failed, and it is tried again. `waiting`: it waits for its first one. */
export const deliveryStates = ['waiting', 'deferred', 'delivered', 'dead'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** Null: any. */
export type DeliveryFilter = Pick<MessageFilter, 'channel'> & {
  readonly state: DeliveryState | null;
};

/** One reply, or one part of a split one, on its way. */
export type DeliveryRow = {
  readonly id: string;
  /** The id of the message that it answers; null: it is not known any more. */
  readonly message: string | null;
  readonly channel: ChannelKey;
  readonly createdAt: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** When it is tried again; null: at its turn, or not any more. */
  readonly nextAt: number | null;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  /** Why the last try of a reply failed that was not delivered. */
  readonly failure: FailureSummary | null;
};

/** What is kept of the conversations of a channel. */
export type ConversationCount = {
  readonly channel: ChannelKey;
  /** Those in which turns are kept. */
  readonly conversations: number;
  readonly turns: number;
  /** When something was said there last; null: it is not known. */
  readonly lastAt: number | null;
};

/** Whether a channel is one that is asked for, by its key or by its type. */
export function isOnChannel(key: ChannelKey, asked: string | null): boolean {
  return asked === null || key === asked || channelTypeOf(key) === asked;
}

/**
 * @param lastAt when the last delivery ended; null: nothing was delivered
 * @returns `totalMs` of such a message
 */
export function totalOf(
  { state, acceptedAt }: Pick<MessageRow, 'state' | 'acceptedAt'>,
  { waiting }: ReplyCounts,
  lastAt: number | null,
): number | null {
  if (state === 'waiting' || waiting > 0 || lastAt === null) return null;
  return Math.max(0, lastAt - acceptedAt);
}

/** Replies that wait for another try, of one channel and for one reason. */
export type DeferredGroup = {
  readonly channel: ChannelKey;
  /** Why the last try of each failed. */
  readonly failure: FailureKind;
  /** What it was answered; null: there was no answer, or none with a status. */
  readonly status: number | null;
  readonly count: number;
  /** When the oldest was made; of more than 10,000, of those that were tried first. */
  readonly oldestAt: number;
  /** When the first of them is tried again. */
  readonly nextAt: number;
};

/** Null: any. */
export type DeferredFilter = Pick<MessageFilter, 'channel'> & {
  readonly failure: FailureKind | null;
  readonly status: number | null;
};

/** Which of them are to be tried now. */
export type WhichDeferred =
  | { readonly kind: 'one'; readonly id: string }
  /** Whose last try began before `before`, milliseconds since 1970: each is tried once then. */
  | { readonly kind: 'all'; readonly filter: DeferredFilter; readonly before: number };

/** What became of such a request; `more`: there are others like these. */
export type TriedNow =
  | { readonly kind: 'moved'; readonly moved: number; readonly more: boolean }
  | { readonly kind: 'storage_failed' };
