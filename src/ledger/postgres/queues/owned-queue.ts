/** A conversation that this instance alone works, and what it knows of it. */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Where } from '../../engine/memories.ts';
import type { WorkingSet } from '../../engine/order/working-set.ts';
import type { Arrival, Enter } from '../../engine/storage.ts';

/** A message that has landed; `n`: its number in the lane. */
export type Arrived = { readonly arrival: Arrival; readonly n: number; readonly enter: Enter };

/** What a lane has become by what was put back into it. */
export type QueueGrowth = { readonly tail: number; readonly owner: number | null };

export class OwnedQueue {
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly epoch: number;
  /** The newest number up to which all that is unsettled stands in the working set. */
  tail: number;
  /** The newest number that is known of: what was read after that has all up to it. */
  upTo: number;
  /** What is to be read, or is being read, before anything that has come is entered. */
  unread: 'nothing' | 'messages' | 'all' = 'nothing';
  /** They came while the lane was read, or show a gap; in the order of their numbers. */
  arrived: Arrived[] = [];
  /** It is to be free as soon as nothing of it is in hand, whatever else waits in it. */
  isLeaving = false;
  /** Parked replies lie in it that have left the working set. */
  hasParked = false;
  /** Something has come into it that is no message, and was not read. */
  hasOthers = false;
  /** How often it could not be let go, since another instance held its row just then. */
  skips = 0;

  constructor({ channel, conversation }: Where, epoch: number, tail: number) {
    this.channel = channel;
    this.conversation = conversation;
    this.epoch = epoch;
    this.tail = tail;
    this.upTo = tail;
  }
}

/** What lies in a lane that is let go, as its row says it. */
export function leftIn(queue: OwnedQueue, rows: Pick<WorkingSet, 'queuesOn'>): 0 | 1 | 2 {
  if (queue.isLeaving || queue.hasOthers) return 2;
  if (queue.unread !== 'nothing' || queue.arrived.length > 0) return 2;
  const [known] = rows.queuesOn(queue.channel, queue.conversation);
  if (known !== undefined && known.inbox.length + known.outbox.length > 0) return 2;
  return queue.hasParked || (known?.replies ?? 0) > 0 ? 1 : 0;
}
