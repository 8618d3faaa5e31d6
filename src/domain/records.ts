/**
 * The lists of the ledger: messages and deliveries with states and times, without text and without
 * anybody's id.
 */
import { apologies } from './decision.ts';
import type { FailureKind } from './failure.ts';
import { registeredNameOf, type ChannelKey, type ModelName } from './ids.ts';
import type { PageRequest } from './page.ts';
import type { FailureSummary, Story } from './story.ts';
import type { TurnOutcome } from './trace.ts';

export const messageStates = ['waiting', 'answered', 'dead'] as const;

/** `unanswered`: dead, or ended with an apology. */
export const stateFilters = [...messageStates, 'unanswered'] as const;

export const messageOrders = ['newest', 'oldest'] as const;

/** A page of messages; `order`: which come first, by default the newest. */
export type MessagePage = PageRequest & { readonly order?: (typeof messageOrders)[number] };

/** Null: any value. */
export type MessageFilter = {
  /** A channel by its key, or all bots of a registered name. */
  readonly channel: string | null;
  readonly brain: string | null;
  readonly state: (typeof stateFilters)[number] | null;
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

/** Brain and outcome are null while the message waits, and if it died without a turn. */
export type MessageRow = Pick<Story, 'id' | 'channel' | 'acceptedAt' | 'state' | 'settledAt'> & {
  readonly brain: string | null;
  readonly outcome: TurnOutcome | null;
  /** The model whose answer is the reply. */
  readonly model: ModelName | null;
  /** From the acceptance to the last delivery; null: a reply still waits, or none was delivered. */
  readonly totalMs: number | null;
  /** Each part of a split reply counts. */
  readonly replies: ReplyCounts;
};

export type ReplyCounts = {
  readonly waiting: number;
  readonly delivered: number;
  readonly dead: number;
};

/** `deferred`: an attempt failed, and another follows. `waiting`: before the first attempt. */
export const deliveryStates = ['waiting', 'deferred', 'delivered', 'dead'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** Null: any value. */
export type DeliveryFilter = Pick<MessageFilter, 'channel'> & {
  readonly state: DeliveryState | null;
};

/** One reply, or one part of a split one, on its way. */
export type DeliveryRow = {
  readonly id: string;
  /** The id of the message that the reply answers; null: no longer known. */
  readonly message: string | null;
  readonly channel: ChannelKey;
  readonly createdAt: number;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The time of the next attempt; null: at its turn, or never. */
  readonly nextAt: number | null;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  /** Why the last attempt failed, for a reply that is not delivered. */
  readonly failure: FailureSummary | null;
};

/** The stored conversations of a channel. */
export type ConversationCount = {
  readonly channel: ChannelKey;
  /** Conversations with stored turns. */
  readonly conversations: number;
  readonly turns: number;
  /** The time of the last turn; null: unknown. */
  readonly lastAt: number | null;
};

/** Whether a channel matches a key or a registered name; `asked` null: every channel does. */
export function isOnChannel(key: ChannelKey, asked: string | null): boolean {
  return asked === null || key === asked || registeredNameOf(key) === asked;
}

const apologySet: ReadonlySet<string> = new Set(apologies);

/** Whether a message is in a state; `asked` null: any. @param outcome null: it has none */
export function isInState(
  state: MessageRow['state'],
  outcome: string | null,
  asked: MessageFilter['state'],
): boolean {
  if (asked !== 'unanswered') return asked === null || state === asked;
  return state === 'dead' || (state === 'answered' && outcome !== null && apologySet.has(outcome));
}

/**
 * The `totalMs` of a message row.
 * @param lastAt when the last delivery ended; null: nothing was delivered
 */
export function totalOf(
  { state, acceptedAt }: Pick<MessageRow, 'state' | 'acceptedAt'>,
  { waiting }: ReplyCounts,
  lastAt: number | null,
): number | null {
  if (state === 'waiting' || waiting > 0 || lastAt === null) return null;
  return Math.max(0, lastAt - acceptedAt);
}

/** Replies that wait for another attempt, of one channel and for one reason. */
export type DeferredGroup = {
  readonly channel: ChannelKey;
  /** Why the last attempt of each failed. */
  readonly failure: FailureKind;
  /** The status of the answer; null: there was no answer, or none with a status. */
  readonly status: number | null;
  readonly count: number;
  /**
   * When the oldest was made. With more than 10,000 replies: the oldest of those that were tried
   * first.
   */
  readonly oldestAt: number;
  /** The time of the next attempt for the first of them. */
  readonly nextAt: number;
};

/** Null: any value. */
export type DeferredFilter = Pick<MessageFilter, 'channel'> & {
  readonly failure: FailureKind | null;
  readonly status: number | null;
};

/** The replies that an operator wants to try now. */
export type WhichDeferred =
  | { readonly kind: 'one'; readonly id: string }
  /**
   * Replies whose last attempt began before `before`, milliseconds since 1970. So each is tried
   * only once.
   */
  | { readonly kind: 'all'; readonly filter: DeferredFilter; readonly before: number };

/** The result of such a request. `more`: there are other replies like these. */
export type RetriedNow =
  | { readonly kind: 'moved'; readonly moved: number; readonly more: boolean }
  | { readonly kind: 'storage_failed' };
