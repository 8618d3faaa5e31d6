/** Whose a message is, as its row tells it. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { MessageOrigin } from '../../domain/story.ts';
import type { ConversationIdCipher } from './id-cipher.ts';
import { fieldsOf } from './stored-json.ts';

/** `sender`: a JSON object; null: it cannot be read. */
export type OriginRecord = {
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly sender: string | null;
};

export function originOf(idCipher: ConversationIdCipher, record: OriginRecord): MessageOrigin {
  const channel = record.channel as ChannelKey;
  const conversation = record.conversation as ConversationId;
  const conversationId = idCipher.idOf({ channel, conversation });
  return { id: record.id, channel, conversation, conversationId, sender: senderIn(record.sender) };
}

function senderIn(kept: string | null): MessageOrigin['sender'] {
  const { id, name } = kept === null ? {} : fieldsOf(kept);
  if (typeof id !== 'string') return null;
  return { id, name: typeof name === 'string' ? name : null };
}
