import type { MessageId, ReplyId, ConversationId } from './ids.ts';
import type { Address } from './message.ts';
import type { Failure } from './failure.ts';

/** The text that goes back. One row of the outbox is one reply, or one part of a split one. */
export type Reply = {
  readonly id: ReplyId;
  readonly inReplyTo: MessageId;
  readonly conversation: ConversationId;
  readonly address: Address;
  /** The brain's name: to the receiver it is the sender. */
  readonly brain: string;
  readonly text: string;
  readonly createdAt: number;
  /** Why svc itself began a new session just before this reply; null when it did not. */
  readonly sessionStarted: 'idle' | 'daily' | null;
  /** What a person may answer by a press, where the platform has buttons; absent: nothing. */
  readonly choices?: readonly Choice[];
  /**
   * The platform's message that becomes this reply: it shows the beginning of it already. Opaque to
   * all but its channel; absent: a new message.
   */
  readonly replaces?: string;
  /** It stands where there is no answer, and takes the place of none; absent: it answers. */
  readonly isApology?: true;
  /** `text` goes as a file with this name, not as words; absent: as words. */
  readonly file?: { readonly name: string };
};

/** What of a reply is sent at once, where it is cut; `file` as in `Reply`. */
export type ReplyPart = Pick<Reply, 'text' | 'file'>;

/** The parts of a cut reply have its id with `-00`, `-01`, … behind it. */
export function isFirstPart({ id }: Pick<Reply, 'id'>): boolean {
  return !/-\d+$/.test(id) || id.endsWith('-00');
}

/** A press is taken as if who pressed had written `says` in that conversation. */
export type Choice = { readonly label: string; readonly says: string };

/** What the receiver is told about this try. `number` counts from 1. */
export type Attempt = {
  readonly number: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
};

/**
 * How a try ended. `retry` may be tried again on the schedule; with `mayHaveArrived` the next try
 * is marked as a possible duplicate. `paced`: nothing arrived, since the platform takes no more for
 * `pauseMs`; `asked` is its own word for that, and null where it was not asked at all. `dead` is
 * never tried again.
 */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly failure: Failure; readonly mayHaveArrived: boolean }
  | { readonly kind: 'paced'; readonly pauseMs: number; readonly asked: Failure | null }
  | { readonly kind: 'dead'; readonly failure: Failure };

/**
 * How a reply that is tried again goes on. `park`: from now on it holds up nothing behind it and is
 * marked late. `uncounted`: the try was cancelled or came too soon for the platform, and does not
 * move it along its schedule.
 */
export type Deferral = {
  readonly park: boolean;
  readonly possibleDuplicate: boolean;
  readonly uncounted?: true;
};

// A text as a quotation: no line of it can be taken for anything else.

/** Each line with `> ` before it. */
export function quotedLines(text: string): string {
  return text
    .toWellFormed()
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join('\n');
}

/** Without half a character at its end. */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
