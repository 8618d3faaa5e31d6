import { ConversationIdCipher, idCipherPlace } from '../../read/id-cipher.ts';
import type { Ask } from './ask.ts';

const secret = 'SELECT value FROM svc.cursor WHERE channel = $1 AND name = $2';

export async function idCipherOf(ask: Ask): Promise<ConversationIdCipher> {
  const { channel, name } = idCipherPlace;
  const [found] = await ask<{ readonly value: string }>(secret, channel, name);
  return new ConversationIdCipher(found!.value);
}
