/**
 * Lanes that an operator answers by hand. None of their messages is offered; replies go out as
 * ever. A lane may come and go meanwhile: what is known here is kept by conversation.
 */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Lanes } from './queues.ts';
import type { Offering } from './offering.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { InRow } from './rows.ts';

export class LanesByHand {
  readonly #lanes: Lanes;
  readonly #ready: ReadyQueues;
  readonly #offering: Offering;
  readonly #channels = new Map<ChannelKey, Set<ConversationId>>();

  constructor(lanes: Lanes, ready: ReadyQueues, offering: Offering) {
    this.#lanes = lanes;
    this.#ready = ready;
    this.#offering = offering;
    lanes.isByHand = (channel, conversation) => this.has(channel, conversation);
  }

  has(channel: ChannelKey, conversation: ConversationId): boolean {
    return this.#channels.get(channel)?.has(conversation) === true;
  }

  /** What was offered of it can no longer be taken; who has taken its message is not told. */
  take(channel: ChannelKey, conversation: ConversationId): void {
    const held = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, held.add(conversation));
    for (const lane of this.#lanes.on(channel, conversation)) {
      lane.byHand = true;
      const offered = this.#ready.withdraw(channel, (row) => row.lane === lane);
      if (offered.length > 0) lane.inBusy = false;
      this.#offering.withdraw(lane);
    }
  }

  /** Its first message is offered, as that of any other. */
  giveBack(channel: ChannelKey, conversation: ConversationId): void {
    const held = this.#channels.get(channel);
    if (held?.delete(conversation) !== true) return;
    if (held.size === 0) this.#channels.delete(channel);
    for (const lane of this.#lanes.on(channel, conversation)) {
      lane.byHand = false;
      this.#offering.goOn(lane);
    }
  }

  /** Its messages in order, but for one whose end is being written down. */
  waiting(channel: ChannelKey, conversation: ConversationId, most: number): readonly InRow[] {
    const rows: InRow[] = [];
    for (const { inbox } of this.#lanes.on(channel, conversation)) {
      for (let at = 0; at < inbox.length && rows.length < most; at++) {
        const row = inbox.at(at)!;
        if (!row.taken) rows.push(row);
      }
    }
    return rows;
  }
}
