/**
 * How private conversations have been since the start of this process, where no turn is kept: one
 * that had something private stays so, for nobody knows which of its replies held that.
 */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { Where } from '../engine/memories.ts';
import type { Effects } from '../ledger.ts';

/** Of a channel that has more all are private. */
const conversationsMax = 10_000;

export class ProcessLabels {
  readonly #private = new Map<ChannelKey, Set<ConversationId>>();

  of({ channel, conversation }: Where): Sensitivity {
    const known = this.#private.get(channel);
    if (known === undefined) return 'public';
    return known.size >= conversationsMax || known.has(conversation) ? 'private' : 'public';
  }

  /** To be called before a reply of the turn goes out. */
  ended(message: Message, effects: Pick<Effects, 'turn'> | null): void {
    const { channel, conversation, sensitivity } = message;
    if (sensitivity === 'public' && effects?.turn?.sensitivity !== 'private') return;
    const known = this.#private.get(channel) ?? new Set();
    this.#private.set(channel, known);
    if (known.size < conversationsMax) known.add(conversation);
  }
}
