import type { ConversationKey } from '../../../src/domain/story.ts';

/** The API path of a conversation, by the platform's id. */
export function pathOf({ channel, conversation }: ConversationKey): string {
  return `${encodeURIComponent(channel)}/${encodeURIComponent(conversation)}`;
}
