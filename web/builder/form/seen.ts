/** People and chats that svc has seen on a channel, for the conditions of its routes. */
import { create } from 'zustand';
import { findKind } from '../../../src/channels/registry.ts';
import type { Pairing, TurnedAway } from '../../../src/domain/gate.ts';
import { registeredNameOf, channelTypeOf, type ChannelKey } from '../../../src/domain/ids.ts';
import type { ConversationKey, MessageOrigin } from '../../../src/domain/story.ts';
import { ask } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';
import { channelsOf } from '../document/starts.ts';
import { baseDocument, useDraft } from '../document/store.ts';

/** An id, and the words that tell whose it is. */
export type Offer = { readonly id: string; readonly words: string };

export type Seen = {
  readonly senders: readonly Offer[];
  readonly chats: readonly Offer[];
  readonly topics: readonly Offer[];
};

export type SeenRows = {
  readonly origins: readonly MessageOrigin[];
  readonly conversations: readonly ConversationKey[];
  readonly pairings: readonly Pairing[];
  readonly turnedAway: readonly (TurnedAway & { readonly sender: string })[];
};

/** @param channel a registered name: rows of other channels do not count */
export function seenOn(channel: string, rows: SeenRows): Seen {
  const [senders, chats, topics] = [new Names(), new Names(), new Names()];
  const isHere = (key: string): boolean => registeredNameOf(key as ChannelKey) === channel;
  const place = (key: ChannelKey, conversation: string, who: string): void => {
    const at = findKind(channelTypeOf(key))?.placeOf(conversation);
    if (at === undefined) return;
    chats.add(at.chat, who === '' ? '' : `with ${who}`);
    if (at.topic !== null) topics.add(at.topic, at.topic === at.chat ? '' : `of chat ${at.chat}`);
  };
  for (const { channel: key, conversation, sender } of rows.origins) {
    if (!isHere(key)) continue;
    if (sender !== null) senders.add(sender.id, sender.name ?? '');
    place(key, conversation, sender?.name ?? '');
  }
  for (const { channel: key, conversation } of rows.conversations) {
    if (isHere(key)) place(key, conversation, '');
  }
  for (const { channel: key, sender, name } of rows.pairings) {
    if (isHere(key)) senders.add(sender, name ?? '');
  }
  for (const { channel: key, sender } of rows.turnedAway) {
    if (isHere(key)) senders.add(sender, 'turned away');
  }
  return { senders: senders.offers, chats: chats.offers, topics: topics.offers };
}

/** The first words of an id stay. */
class Names {
  readonly #words = new Map<string, string>();

  add(id: string, words: string): void {
    if (id === '' || (this.#words.get(id) ?? '') !== '') return;
    this.#words.set(id, words);
  }

  get offers(): readonly Offer[] {
    return [...this.#words].map(([id, words]) => ({
      id,
      words: words === '' ? id : `${id}, ${words}`,
    }));
  }
}

type Kept = { readonly channel: string; readonly at: number; readonly seen: Seen | null };

const nobody: Kept = { channel: '', at: 0, seen: null };

/** What was read last. `seen` null: it is being read. */
export const useSeen = create<Kept>(() => nobody);

// After a sign-out, nothing is remembered.
useToken.subscribe(() => useSeen.setState(nobody, true));

/** A page of a list: the newest messages, whose senders and chats are read. */
const rowsMax = 200;
const freshMs = 30_000;

const nothing: Seen = { senders: [], chats: [], topics: [] };

/** Reads who was seen on a channel, unless that was read a moment ago. */
export async function readSeen(channel: string): Promise<void> {
  const now = Date.now();
  const kept = useSeen.getState();
  if (channel === '' || (kept.channel === channel && now - kept.at < freshMs)) return;
  if (!isInUse(channel)) return useSeen.setState({ channel, at: now, seen: nothing }, true);
  const before = kept.channel === channel ? kept.seen : null;
  useSeen.setState({ channel, at: now, seen: before }, true);
  const of = new URLSearchParams({ channel, limit: String(rowsMax) });
  const [messages, conversations, pairings, turnedAway] = await Promise.all([
    rowsOf<{ readonly id: string }>(`messages?${of.toString()}`),
    rowsOf<ConversationKey>(`conversations?limit=${rowsMax}`),
    rowsOf<Pairing>('pairings'),
    rowsOf<SeenRows['turnedAway'][number]>('turned-away/senders'),
  ]);
  const ids = messages.map(({ id }) => id).join(',');
  const origins = ids === '' ? [] : await rowsOf<MessageOrigin>(`messages/origins?ids=${ids}`);
  const seen = seenOn(channel, { origins, conversations, pairings, turnedAway });
  const { at } = useSeen.getState();
  if (at === now) useSeen.setState({ channel, at, seen }, true);
}

/** The service refuses a name that it does not know: nobody can have been seen there. */
function isInUse(channel: string): boolean {
  const { base } = useDraft.getState();
  const inUse = base === null ? [] : channelsOf(baseDocument(base));
  return findKind(channel) !== undefined || inUse.includes(channel);
}

/** Without an answer there are no rows: every id can also be typed. */
async function rowsOf<Row>(path: string): Promise<readonly Row[]> {
  const answer = await ask<{ readonly rows: readonly Row[] }>(path);
  return answer.kind === 'ok' ? answer.value.rows : [];
}
