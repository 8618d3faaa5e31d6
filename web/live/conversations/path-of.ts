import type { ConversationKey } from '../../../src/domain/story.ts';

/** The conversation in a path of the API, by the platform's id. */
export function pathOf({ channel, conversation }: ConversationKey): string {
  return `${encodeURIComponent(channel)}/${encodeURIComponent(conversation)}`;
}
