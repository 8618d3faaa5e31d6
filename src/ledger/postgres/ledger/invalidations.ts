/**
 * Invalidations of memory that instances send each other: forget a sender or a conversation, or
 * read changed conversations again.
 *
 * A notice comes from the database, perhaps from another release. A notice that cannot be parsed
 * may be about anybody, so the instance drops its whole memory and reads everything again.
 */
import type { ChannelKey, ConversationId, MessageId } from '../../../domain/ids.ts';
import type { MessageOwner } from '../../../domain/story.ts';
import type { StorageReport, OthersRows } from '../../engine/storage.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { Peers } from '../../../cluster/backend.ts';
import type { History } from './history.ts';

const forgetKind = 'forget';
const changedKind = 'changed';

/** `answered`: ids of messages whose replies are to be forgotten too. */
type ForgetNotice = OthersRows & { readonly answered: readonly string[] };
type ChangeNotice = {
  readonly channel: ChannelKey;
  readonly conversations: readonly ConversationId[];
};

export type InvalidationsDeps = {
  readonly peers: Peers;
  readonly rows: WorkingSet;
  readonly history: History;
};

export class Invalidations {
  readonly #deps: InvalidationsDeps;

  constructor(deps: InvalidationsDeps) {
    this.#deps = deps;
  }

  /** @param forgetHere removes their messages from the memory of this instance */
  listen(forgetHere: StorageReport['forgetHere']): void {
    const { peers, rows, history } = this.#deps;
    const dropMemory = (): void => {
      rows.outdateAll();
      history.dropAll();
    };
    peers.onBroadcast(forgetKind, async (body) => {
      const notice = forgetNoticeIn(objectIn(body));
      if (notice === null) return dropMemory();
      const { answered, ...theirs } = notice;
      // It rejects only after a failure of the storage, which ends this process and its memory.
      await forgetHere(theirs, new Set(answered)).catch(() => {});
    });
    peers.onBroadcast(changedKind, (body) => {
      const changed = changeNoticeIn(objectIn(body));
      if (changed === null) return dropMemory();
      const { channel, conversations } = changed;
      for (const conversation of conversations) {
        rows.outdate(channel, conversation);
        history.drop({ channel, conversation });
      }
    });
  }

  /**
   * Resolves when no instance has work of theirs in memory any more.
   * @param answered ids of messages whose replies are to be forgotten too
   */
  async forget({ whose, beforeId }: OthersRows, answered: Iterable<string> = []): Promise<void> {
    const { peers } = this.#deps;
    const notice: ForgetNotice = { whose, beforeId, answered: [...answered] };
    await peers.broadcast(forgetKind, JSON.stringify(notice));
  }

  /** Resolves when no instance has the old memory of these conversations. */
  async changed(channel: ChannelKey, conversations: readonly ConversationId[]): Promise<void> {
    const { peers } = this.#deps;
    const notice: ChangeNotice = { channel, conversations };
    await peers.broadcast(changedKind, JSON.stringify(notice));
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** @returns no fields when the body is no JSON object */
function objectIn(body: string): Fields {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Fields) : {};
  } catch {
    return {};
  }
}

/** @returns null when the fields do not fit */
function forgetNoticeIn({ whose, beforeId, answered }: Fields): ForgetNotice | null {
  const theirs = whoseIn(whose);
  if (theirs === null || typeof beforeId !== 'string' || !areTexts(answered)) return null;
  return { whose: theirs, beforeId: beforeId as MessageId, answered };
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function whoseIn(value: unknown): MessageOwner | null {
  if (typeof value !== 'object' || value === null) return null;
  const { kind, channel, conversation, sender } = value as Fields;
  if (typeof channel !== 'string') return null;
  const on = { channel: channel as ChannelKey };
  if (kind === 'conversation' && typeof conversation === 'string') {
    return { kind, ...on, conversation: conversation as ConversationId };
  }
  return kind === 'sender' && typeof sender === 'string' ? { kind, ...on, sender } : null;
}

/** @returns null when the fields do not fit */
function changeNoticeIn({ channel, conversations }: Fields): ChangeNotice | null {
  if (typeof channel !== 'string' || !areTexts(conversations)) return null;
  return {
    channel: channel as ChannelKey,
    conversations: conversations as readonly ConversationId[],
  };
}
