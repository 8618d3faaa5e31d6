/** Finds and makes conversation queues, and keeps idle ones for a while. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import { ConversationQueue } from './queue.ts';

/** At most this many queues without rows are kept: most conversations come back soon. */
const idleMax = 4_096;

export class Queues {
  readonly #channels = new Map<ChannelKey, Map<ConversationId, ConversationQueue>>();
  /** Whether an operator has taken the conversation over. Asked when its queue is made. */
  isTakenOver: (channel: ChannelKey, conversation: ConversationId) => boolean = () => false;
  #queues = 0;
  #idle = 0;

  /** How many queues have rows. */
  get busy(): number {
    return this.#queues - this.#idle;
  }

  /** The queue of a conversation that is about to get a row. */
  of(channel: ChannelKey, conversation: ConversationId): ConversationQueue {
    let queues = this.#channels.get(channel);
    if (queues === undefined) this.#channels.set(channel, (queues = new Map()));
    let queue = queues.get(conversation);
    if (queue === undefined) {
      queue = new ConversationQueue(channel, conversation);
      queue.isTakenOver = this.isTakenOver(channel, conversation);
      queues.set(conversation, queue);
      this.#queues++;
    } else if (queue.idle) {
      this.#idle--;
    }
    queue.idle = false;
    return queue;
  }

  /** The queues of a channel, or the queue of one conversation; empty where there are none. */
  on(channel: ChannelKey, conversation: ConversationId | null): readonly ConversationQueue[] {
    const queues = this.#channels.get(channel);
    if (conversation === null) return [...(queues?.values() ?? [])];
    const queue = queues?.get(conversation);
    return queue === undefined ? [] : [queue];
  }

  /** Call when a queue may have become empty. */
  updateIdle(queue: ConversationQueue): void {
    if (queue.idle || !queue.empty) return;
    queue.idle = true;
    if (++this.#idle > idleMax) this.#forgetIdle();
  }

  /**
   * Ids of messages and replies in order, queue by queue. Whole queues are added until there are at
   * least `most` ids.
   */
  idsOfRows(most: number): readonly string[] {
    const ids: string[] = [];
    for (const { inbox, outbox } of this) {
      for (let i = 0; i < inbox.length; i++) ids.push(inbox.at(i)!.head.id);
      for (let i = 0; i < outbox.length; i++) ids.push(outbox.at(i)!.head.id);
      if (ids.length >= most) break;
    }
    return ids;
  }

  /** Ids of the messages that are handed out. Each is the first of its queue. */
  idsOfTaken(): readonly string[] {
    const ids: string[] = [];
    for (const { inbox } of this) {
      const first = inbox.peek();
      if (first?.taken === true) ids.push(first.head.id);
    }
    return ids;
  }

  /** Cancels every timer of the queues. */
  stopTimers(): void {
    for (const { outbox, mergeWait } of this) {
      outbox.peek()?.due?.cancel();
      mergeWait?.cancel();
    }
  }

  *[Symbol.iterator](): Generator<ConversationQueue> {
    for (const queues of this.#channels.values()) yield* queues.values();
  }

  #forgetIdle(): void {
    for (const queues of this.#channels.values()) {
      for (const [conversation, queue] of queues) if (queue.idle) queues.delete(conversation);
    }
    this.#queues -= this.#idle;
    this.#idle = 0;
  }
}
