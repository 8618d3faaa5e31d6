/**
 * Which conversation is looked at. The conversation's id may be somebody's name or number, so it
 * stays out of the page's address. The address has a number instead, which this page alone can
 * read.
 */
import { create } from 'zustand';
import type { ConversationKey } from '../../../src/domain/story.ts';
import { goTo } from '../../kit/place.ts';

type Opened = { readonly keys: readonly ConversationKey[] };

const useOpened = create<Opened>(() => ({ keys: [] }));

/** @returns the number that replaces the conversation in the address */
function numberOf(key: ConversationKey): string {
  const { keys } = useOpened.getState();
  const known = keys.findIndex((one) => isSame(one, key));
  return String(known === -1 ? keys.length : known);
}

/** Opens a conversation from wherever it is told. */
export function goToConversation(key: ConversationKey): void {
  const open = numberOf(key);
  remember(key);
  goTo({ view: 'conversations', open });
}

function remember(key: ConversationKey): void {
  const { keys } = useOpened.getState();
  if (!keys.some((one) => isSame(one, key))) useOpened.setState({ keys: [...keys, key] });
}

/** null: this page does not know it, after a reload for example. */
export function useConversation(number: string | undefined): ConversationKey | null {
  return useOpened(({ keys }) => keys[Number(number)] ?? null);
}

const isSame = (a: ConversationKey, b: ConversationKey): boolean =>
  a.channel === b.channel && a.conversation === b.conversation;

/** The conversation in a path of the API. */
export function pathOf({ channel, conversation }: ConversationKey): string {
  return `${encodeURIComponent(channel)}/${encodeURIComponent(conversation)}`;
}
