/**
 * How private conversations have been since the start of this process, where no turn is kept: one
 * that had something private stays so, for nobody knows which of its replies held that.
 */
import type { Message } from '../../domain/message.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { keyOf, type Where } from '../ledger/memories.ts';
import type { Effects } from '../store.ts';

const conversationsMax = 10_000;

export class ProcessStamps {
  readonly #private = new Set<string>();

  of(where: Where): Sensitivity {
    const isFull = this.#private.size >= conversationsMax;
    return isFull || this.#private.has(keyOf(where)) ? 'private' : 'public';
  }

  /** To be called before a reply of the turn goes out. */
  ended(message: Message, effects: Pick<Effects, 'turn'> | null): void {
    const isPublic = message.sensitivity === 'public' && effects?.turn?.sensitivity !== 'private';
    if (!isPublic && this.#private.size < conversationsMax) this.#private.add(keyOf(message));
  }
}
