/** Replies, their attempts at delivery, and the outcome of an attempt. */
import type { MessageId, ReplyId, ConversationId } from './ids.ts';
import type { Address } from './message.ts';
import type { Failure } from './failure.ts';

/** The text that goes back. One row of the outbox is one reply, or one part of a split reply. */
export type Reply = {
  readonly id: ReplyId;
  readonly inReplyTo: MessageId;
  readonly conversation: ConversationId;
  readonly address: Address;
  /** The brain's name. The receiver sees it as the sender. */
  readonly brain: string;
  readonly text: string;
  readonly createdAt: number;
  /** Why svc itself began a new session just before this reply; null: it did not. */
  readonly sessionStarted: 'idle' | 'daily' | null;
  /**
   * Answers that a person can give by pressing a button, if the platform has buttons; absent: none.
   */
  readonly choices?: readonly Choice[];
  /**
   * The platform's message that becomes this reply: it already shows the beginning. Only its
   * channel understands the value; absent: the reply is a new message.
   */
  readonly replaces?: string;
  /** The reply is an apology: there is no answer. Absent: it is an answer. */
  readonly isApology?: true;
  /** `text` goes as a file with this name; absent: as words. */
  readonly file?: { readonly name: string };
};

/** The part of a cut reply that goes in one send; `file` as in `Reply`. */
export type ReplyPart = Pick<Reply, 'text' | 'file'>;

/**
 * Whether it is a whole reply or the first part of a cut one. Parts have the reply's id with `-00`,
 * `-01`, … behind it.
 */
export function isFirstPart({ id }: Pick<Reply, 'id'>): boolean {
  return !/-\d+$/.test(id) || id.endsWith('-00');
}

/** If a person presses the button, svc acts as if that person had written `says` there. */
export type Choice = { readonly label: string; readonly says: string };

/** The facts about this attempt for the receiver. `number` counts from 1. */
export type Attempt = {
  readonly number: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
};

/**
 * How an attempt ended.
 * - `retry`: the schedule gives it another attempt. With `mayHaveArrived`, that attempt is marked
 *   as a possible duplicate.
 * - `paced`: nothing arrived, since the platform accepts no more for `pauseMs`. `asked` is its own
 *   answer; null: svc did not ask it.
 * - `dead`: there is no other attempt.
 */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly failure: Failure; readonly mayHaveArrived: boolean }
  | { readonly kind: 'paced'; readonly pauseMs: number; readonly asked: Failure | null }
  | { readonly kind: 'dead'; readonly failure: Failure };

/**
 * How a reply that gets another attempt continues. `park`: it no longer holds up the replies behind
 * it, and is marked late. `uncounted`: the attempt was cancelled or came too soon for the platform,
 * so it does not advance the schedule.
 */
export type Deferral = {
  readonly park: boolean;
  readonly possibleDuplicate: boolean;
  readonly uncounted?: true;
};

// Quotations: no line of the text can be taken for anything else.

/** Each line with `> ` before it. */
export function quotedLines(text: string): string {
  return text
    .toWellFormed()
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join('\n');
}

/** The first characters of a text, without half of a surrogate pair at the end. */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
