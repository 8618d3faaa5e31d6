/** How many bytes rows count, and the stored rows of new messages and replies. */
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import type { StoredMessage, StoredReply } from './queue.ts';

/** How many bytes a row counts: two for each character, and a fixed overhead. */
export function bytesOf(characters: number): number {
  return 512 + 2 * characters;
}

export function bytesOfMessage(
  message: Omit<Message, 'id' | 'acceptedAt' | 'sensitivity'>,
): number {
  const { text, conversation, sender, media, context, address } = message;
  const characters =
    text.length +
    2 * conversation.length +
    sender.id.length +
    (sender.name?.length ?? 0) +
    (media?.reference.length ?? 0) +
    (media?.type?.length ?? 0) +
    (context?.quoted?.text.length ?? 0) +
    address.target.length;
  return bytesOf(characters);
}

/** The row of a new message. */
export function messageRow(message: Message, seq: number): StoredMessage {
  const { channel, conversation, sender } = message;
  const bytes = bytesOfMessage(message);
  return { head: message, channel, conversation, seq, bytes, sender: sender.id };
}

/** The row of a new reply. */
export function replyRow(reply: Reply, seq: number): StoredReply {
  const { address, conversation, text } = reply;
  const bytes = bytesOf(text.length + conversation.length);
  return { head: reply, channel: address.channel, conversation, seq, bytes };
}
