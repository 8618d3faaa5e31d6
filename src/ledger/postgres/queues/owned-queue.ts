/** A conversation queue that this instance alone works, and what the instance knows of it. */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { ConversationKey } from '../../../domain/story.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { Arrival, Enter } from '../../engine/storage.ts';

/** A message that has landed; `n` is its number in the queue. */
export type ArrivedMessage = {
  readonly arrival: Arrival;
  readonly n: number;
  readonly enter: Enter;
};

/** The row of a queue after something was put back into it. */
export type QueueGrowth = { readonly tail: number; readonly owner: number | null };

export class OwnedQueue {
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly epoch: number;
  /** The newest number up to which the working set has all unsettled rows. */
  tail: number;
  /**
   * The newest number that this instance knows. A read that starts after it finds all rows up to
   * it.
   */
  upTo: number;
  /** The rows that must be read, or are being read, before arrived messages are entered. */
  unread: 'nothing' | 'messages' | 'all' = 'nothing';
  /**
   * Messages that came while the queue was read, or that show a gap, in the order of their numbers.
   */
  arrived: ArrivedMessage[] = [];
  /** The queue is to be released as soon as nothing of it is in hand, whatever else waits in it. */
  isLeaving = false;
  /** It has parked replies that have left the working set. */
  hasParked = false;
  /** A row that is no message has come into it, and was not read. */
  hasOthers = false;
  /** How often a release failed because another instance had the row locked. */
  failedReleases = 0;

  constructor({ channel, conversation }: ConversationKey, epoch: number, tail: number) {
    this.channel = channel;
    this.conversation = conversation;
    this.epoch = epoch;
    this.tail = tail;
    this.upTo = tail;
  }
}

/**
 * The value of `waits` that a release writes: 0 for an empty queue, 1 for parked replies only, 2
 * for anything else.
 */
export function waitsOnRelease(queue: OwnedQueue, rows: Pick<WorkingSet, 'queuesOn'>): 0 | 1 | 2 {
  if (queue.isLeaving || queue.hasOthers) return 2;
  if (queue.unread !== 'nothing' || queue.arrived.length > 0) return 2;
  const [known] = rows.queuesOn(queue.channel, queue.conversation);
  if (known !== undefined && known.inbox.length + known.outbox.length > 0) return 2;
  return queue.hasParked || (known?.replies ?? 0) > 0 ? 1 : 0;
}
