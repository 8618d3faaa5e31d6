/** What instances tell each other of what they remember: that it is to be forgotten, or has changed. */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Theirs } from '../../ledger/storage.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import type { Peers } from '../../peers.ts';
import type { History } from './history.ts';

const forgetKind = 'forget';
const changedKind = 'changed';

/** By whom it was asked, since that one has done its part already. */
type Asked = Theirs & { readonly by: number };
type Changed = {
  readonly channel: ChannelKey;
  readonly conversations: readonly ConversationId[];
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
  hear(forgetHere: (theirs: Theirs) => Promise<void>): void {
    const { peers, rows, history } = this.#parts;
    peers.on(forgetKind, async (body) => {
      const { by, ...theirs } = JSON.parse(body) as Asked;
      // A storage that has failed ends this process, and all that it remembers.
      if (by !== peers.id) await forgetHere(theirs).catch(() => {});
    });
    peers.on(changedKind, (body) => {
      const { channel, conversations } = JSON.parse(body) as Changed;
      for (const conversation of conversations) {
        rows.outdate(channel, conversation);
        history.drop({ channel, conversation });
      }
    });
  }

  /** Resolves when nothing of theirs is in any instance's memory, as far as it is to be worked. */
  async forget({ whose, beforeId }: Theirs): Promise<void> {
    const { peers } = this.#parts;
    const asked: Asked = { whose, beforeId, by: peers.id };
    await peers.tell(forgetKind, JSON.stringify(asked));
  }

  /** Resolves when no instance remembers these conversations as they were. */
  async changed(channel: ChannelKey, conversations: readonly ConversationId[]): Promise<void> {
    const { peers } = this.#parts;
    const told: Changed = { channel, conversations };
    await peers.tell(changedKind, JSON.stringify(told));
  }
}
