/** The rows of the reference: the unsettled messages and replies, with the state of each. */
import type { Message } from '../../../src/domain/message.ts';
import type { Reply } from '../../../src/domain/reply.ts';

type Common = {
  readonly id: string;
  readonly channel: string;
  readonly queue: string;
  /** The id under which it takes room: a message and its replies take it once. */
  roomOf: string;
  attempt: number;
  claimed: boolean;
  /** The step since which it may be claimed; null: it may not. */
  readySince: number | null;
  /** It was released: first in its queue again, and in no order with other queues. */
  givenBack: boolean;
};
export type MessageRow = Common & { readonly box: 'in'; readonly message: Message };
export type ReplyRow = Common & {
  readonly box: 'out';
  readonly reply: Reply;
  possibleDuplicate: boolean;
  late: boolean;
  /** It has left its queue. */
  parked: boolean;
  /** Attempts before the last replay, and those that a person asked for. */
  replayedAfter: number;
  /** The time of its next attempt; null: it waits for no time. */
  dueAt: number | null;
};
export type Row = MessageRow | ReplyRow;

/** Makes a waiting reply due now; its place on the schedule stays. */
export function tryNow(outbox: readonly ReplyRow[], id: string, now: number): number {
  const row = outbox.find((one) => one.id === id && !one.claimed);
  if (row === undefined || (row.dueAt ?? 0) <= now) return 0;
  row.dueAt = now;
  row.replayedAfter++;
  return 1;
}
