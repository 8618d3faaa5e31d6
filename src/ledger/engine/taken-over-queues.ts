/**
 * The conversations that an operator has taken over. The working set offers none of their messages;
 * their replies go out as usual. Takeovers are kept by conversation, since a queue may be dropped
 * and made again meanwhile.
 */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Queues } from './queues.ts';
import type { Offering } from './offering.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { InRow } from './queue.ts';

export class TakenOverQueues {
  readonly #queues: Queues;
  readonly #ready: ReadyQueues;
  readonly #offering: Offering;
  readonly #channels = new Map<ChannelKey, Set<ConversationId>>();

  constructor(queues: Queues, ready: ReadyQueues, offering: Offering) {
    this.#queues = queues;
    this.#ready = ready;
    this.#offering = offering;
    queues.isTakenOver = (channel, conversation) => this.has(channel, conversation);
  }

  has(channel: ChannelKey, conversation: ConversationId): boolean {
    return this.#channels.get(channel)?.has(conversation) === true;
  }

  /**
   * Withdraws a message of the conversation that is offered but not claimed. A claim stays valid:
   * the caller revokes it.
   */
  take(channel: ChannelKey, conversation: ConversationId): void {
    const conversations = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, conversations.add(conversation));
    for (const queue of this.#queues.on(channel, conversation)) {
      queue.isTakenOver = true;
      const offered = this.#ready.withdraw(channel, (row) => row.queue === queue);
      if (offered.length > 0) queue.inBusy = false;
      this.#offering.withdraw(queue);
    }
  }

  /** Offers the first message of the conversation again. */
  giveBack(channel: ChannelKey, conversation: ConversationId): void {
    const conversations = this.#channels.get(channel);
    if (conversations?.delete(conversation) !== true) return;
    if (conversations.size === 0) this.#channels.delete(channel);
    for (const queue of this.#queues.on(channel, conversation)) {
      queue.isTakenOver = false;
      this.#offering.offerNext(queue);
    }
  }

  /**
   * Up to `most` messages of the conversation in order, without those that are claimed or whose end
   * is being written.
   */
  waiting(channel: ChannelKey, conversation: ConversationId, most: number): readonly InRow[] {
    const rows: InRow[] = [];
    for (const { inbox } of this.#queues.on(channel, conversation)) {
      for (let at = 0; at < inbox.length && rows.length < most; at++) {
        const row = inbox.at(at)!;
        if (!row.taken) rows.push(row);
      }
    }
    return rows;
  }
}
