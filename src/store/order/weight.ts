import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';

/** What a row weighs: two bytes a character, and what is around it. */
export function bytesOf(characters: number): number {
  return 512 + 2 * characters;
}

export function bytesOfMessage(
  message: Omit<Message, 'id' | 'acceptedAt' | 'sensitivity'>,
): number {
  const { text, conversation, sender, media, address } = message;
  const characters =
    text.length +
    2 * conversation.length +
    sender.id.length +
    (sender.name?.length ?? 0) +
    (media?.reference.length ?? 0) +
    (media?.type?.length ?? 0) +
    address.target.length;
  return bytesOf(characters);
}

export function bytesOfReply({ text, conversation }: Reply): number {
  return bytesOf(text.length + conversation.length);
}
