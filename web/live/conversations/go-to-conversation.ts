import type { ConversationText, ConversationKey } from '../../../src/domain/story.ts';
import { ask } from '../../kit/api.ts';
import { goTo } from '../../kit/place.ts';
import { conversationPlace } from '../links/places.ts';
import { pathOf } from './path-of.ts';

/** Opens a conversation by the platform's id; if it is gone, opens the list. */
export async function goToConversation(key: ConversationKey): Promise<void> {
  const answer = await ask<ConversationText>(`conversations/${pathOf(key)}`);
  const id = answer.kind === 'ok' ? answer.value.id : null;
  goTo(id === null ? { view: 'conversations' } : conversationPlace(id));
}
