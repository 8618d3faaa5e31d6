import { ConversationSeal, sealPlace } from '../../read/id-cipher.ts';
import type { Ask } from './ask.ts';

const secret = 'SELECT value FROM svc.cursor WHERE channel = $1 AND name = $2';

export async function sealOf(ask: Ask): Promise<ConversationSeal> {
  const { channel, name } = sealPlace;
  const [found] = await ask<{ readonly value: string }>(secret, channel, name);
  return new ConversationSeal(found!.value);
}
