/**
 * What instances tell each other of what they remember: that it is to be forgotten, or has changed.
 *
 * What is told comes from the database, and so from another release. Where it cannot be read it may
 * be about anybody: then nothing that is remembered here is believed any more, and all is read anew.
 */
import type { ChannelKey, ConversationId, MessageId } from '../../../domain/ids.ts';
import type { Whose } from '../../../domain/story.ts';
import type { StorageTold, Theirs } from '../../ledger/storage.ts';
import type { WorkingSet } from '../../order/working-set.ts';
import type { Peers } from '../../peers.ts';
import type { History } from './history.ts';

const forgetKind = 'forget';

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
    peers.on(forgetKind, async (body) => {
      const asked = askedIn(objectIn(body));
      if (asked === null) {
        rows.outdateAll();
        history.dropAll();
        return;
      }
      const { conversations, answered, ...theirs } = asked;
      const { channel } = theirs.whose;
      for (const conversation of conversations) {
        rows.outdate(channel, conversation);
        history.drop({ channel, conversation });
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
    await this.#parts.peers.tell(forgetKind, JSON.stringify(asked));
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** @returns no fields where it is no object */
function objectIn(body: string): Fields {
  try {
    const told: unknown = JSON.parse(body);
    return typeof told === 'object' && told !== null ? (told as Fields) : {};
  } catch {
    return {};
  }
}

/** @returns null: it cannot be read */
function askedIn({ whose, beforeId, conversations, answered }: Fields): Asked | null {
  const theirs = whoseIn(whose);
  if (theirs === null || typeof beforeId !== 'string') return null;
  if (!isTexts(conversations) || !isTexts(answered)) return null;
  return {
    whose: theirs,
    beforeId: beforeId as MessageId,
    conversations: conversations as readonly ConversationId[],
    answered,
  };
}

function isTexts(told: unknown): told is readonly string[] {
  return Array.isArray(told) && told.every((one) => typeof one === 'string');
}

function whoseIn(told: unknown): Whose | null {
  if (typeof told !== 'object' || told === null) return null;
  const { kind, channel, conversation, sender } = told as Fields;
  if (typeof channel !== 'string') return null;
  const on = { channel: channel as ChannelKey };
  if (kind === 'conversation' && typeof conversation === 'string') {
    return { kind, ...on, conversation: conversation as ConversationId };
  }
  return kind === 'sender' && typeof sender === 'string' ? { kind, ...on, sender } : null;
}
