/** Where lanes are found, and kept for a while. */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import { Lane } from './rows.ts';

/** At most so many lanes without rows are kept: most conversations come back soon. */
const idleMax = 4_096;

export class Lanes {
  readonly #channels = new Map<ChannelKey, Map<ConversationId, Lane>>();
  /** Whether an operator has a lane that is made just now. */
  isByHand: (channel: ChannelKey, conversation: ConversationId) => boolean = () => false;
  #lanes = 0;
  #idle = 0;

  /** Lanes that have rows. */
  get busy(): number {
    return this.#lanes - this.#idle;
  }

  /** The lane of a conversation that is to get a row. */
  of(channel: ChannelKey, conversation: ConversationId): Lane {
    let lanes = this.#channels.get(channel);
    if (lanes === undefined) this.#channels.set(channel, (lanes = new Map()));
    let lane = lanes.get(conversation);
    if (lane === undefined) {
      lane = new Lane(channel, conversation);
      lane.byHand = this.isByHand(channel, conversation);
      lanes.set(conversation, lane);
      this.#lanes++;
    } else if (lane.idle) {
      this.#idle--;
    }
    lane.idle = false;
    return lane;
  }

  /** The lanes of a channel, or the one of a conversation on it, as far as there are any. */
  on(channel: ChannelKey, conversation: ConversationId | null): readonly Lane[] {
    const lanes = this.#channels.get(channel);
    if (conversation === null) return [...(lanes?.values() ?? [])];
    const lane = lanes?.get(conversation);
    return lane === undefined ? [] : [lane];
  }

  /** To be told when a lane may have become empty. */
  rest(lane: Lane): void {
    if (lane.idle || !lane.empty) return;
    lane.idle = true;
    if (++this.#idle > idleMax) this.#forgetIdle();
  }

  /** Ids of messages and replies in order: lanes are added as wholes until there are `most`. */
  idsOfRows(most: number): readonly string[] {
    const ids: string[] = [];
    for (const { inbox, outbox } of this) {
      for (let i = 0; i < inbox.length; i++) ids.push(inbox.at(i)!.head.id);
      for (let i = 0; i < outbox.length; i++) ids.push(outbox.at(i)!.head.id);
      if (ids.length >= most) break;
    }
    return ids;
  }

  /** Of the messages that are handed out; each is the first of its lane. */
  idsOfTaken(): readonly string[] {
    const ids: string[] = [];
    for (const { inbox } of this) {
      const first = inbox.peek();
      if (first?.taken === true) ids.push(first.head.id);
    }
    return ids;
  }

  /** Nothing in them waits for its time any more. */
  stopTimers(): void {
    for (const { outbox, gathering } of this) {
      outbox.peek()?.due?.cancel();
      gathering?.cancel();
    }
  }

  *[Symbol.iterator](): Generator<Lane> {
    for (const lanes of this.#channels.values()) yield* lanes.values();
  }

  #forgetIdle(): void {
    for (const lanes of this.#channels.values()) {
      for (const [conversation, lane] of lanes) if (lane.idle) lanes.delete(conversation);
    }
    this.#lanes -= this.#idle;
    this.#idle = 0;
  }
}
