/**
 * Lanes that an operator answers by hand. None of their messages is offered; replies go out as
 * ever. A lane may come and go meanwhile: what is known here is kept by conversation.
 */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Queues } from './queues.ts';
import type { Offering } from './offering.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { InRow } from './rows.ts';

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

  /** What was offered of it can no longer be taken; who has taken its message is not told. */
  take(channel: ChannelKey, conversation: ConversationId): void {
    const held = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, held.add(conversation));
    for (const queue of this.#queues.on(channel, conversation)) {
      queue.byHand = true;
      const offered = this.#ready.withdraw(channel, (row) => row.queue === queue);
      if (offered.length > 0) queue.inBusy = false;
      this.#offering.withdraw(queue);
    }
  }

  /** Its first message is offered, as that of any other. */
  giveBack(channel: ChannelKey, conversation: ConversationId): void {
    const held = this.#channels.get(channel);
    if (held?.delete(conversation) !== true) return;
    if (held.size === 0) this.#channels.delete(channel);
    for (const queue of this.#queues.on(channel, conversation)) {
      queue.byHand = false;
      this.#offering.goOn(queue);
    }
  }

  /** Its messages in order, but for one whose end is being written down. */
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
