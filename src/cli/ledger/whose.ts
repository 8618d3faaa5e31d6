import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Whose } from '../../domain/story.ts';

/**
 * Reads `<channel> <conversation>`, or `<channel>` with `--sender <id>`.
 * @returns whose words are meant, or a sentence about what is wrong
 */
export function parseWhose(positionals: readonly string[], sender: string | null): Whose | string {
  const [channel, conversation] = positionals;
  if (channel === undefined) return 'Say which channel, such as webhook, and which conversation.';
  if (sender === null) {
    if (conversation === undefined) return 'Say which conversation, or whose: --sender <id>.';
    return {
      kind: 'conversation',
      channel: channel as ChannelKey,
      conversation: conversation as ConversationId,
    };
  }
  if (conversation !== undefined) return '--sender and a conversation exclude each other.';
  return { kind: 'sender', channel: channel as ChannelKey, sender };
}

export function sayNobody(whose: Whose): string {
  return whose.kind === 'conversation'
    ? 'No conversation with this id is known here.\n'
    : 'Nothing is known here that this sender said.\n';
}
