/** What instances tell each other of what they remember: that it is to be forgotten, or has changed. */
import type { ConversationId } from '../../../domain/ids.ts';
import type { StorageTold, Theirs } from '../../ledger/storage.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import type { Peers } from '../../peers.ts';
import type { History } from './history.ts';

const kind = 'forget';

/** Whose, before when; where they have talked; and messages that were answered. */
type Asked = Theirs & {
  readonly conversations: readonly ConversationId[];
  readonly answered: readonly string[];
};

export type InvalidationsParts = {
  readonly peers: Peers;
  readonly rows: WorkingSet;
  readonly history: History;
};

export class Invalidations {
  readonly #parts: InvalidationsParts;

  constructor(parts: InvalidationsParts) {
    this.#parts = parts;
  }

  /** @param forgetHere takes what of theirs is in this instance's memory away */
  hear(forgetHere: StorageTold['forgetHere']): void {
    const { peers, rows, history } = this.#parts;
    peers.on(kind, async (body) => {
      const { conversations, answered, ...theirs } = JSON.parse(body) as Asked;
      for (const conversation of conversations) {
        rows.outdate(theirs.whose.channel, conversation);
        history.drop({ channel: theirs.whose.channel, conversation });
      }
      // A storage that has failed ends this process, and all that it remembers.
      await forgetHere(theirs, new Set(answered)).catch(() => {});
    });
  }

  /**
   * Resolves when nothing of theirs is in any instance's memory.
   * @param conversations nothing is remembered of them, either
   * @param answered messages: replies to them go, too
   */
  async forget(
    { whose, beforeId }: Theirs,
    conversations: readonly ConversationId[] = [],
    answered: readonly string[] = [],
  ): Promise<void> {
    const asked: Asked = { whose, beforeId, conversations, answered };
    await this.#parts.peers.tell(kind, JSON.stringify(asked));
  }
}
