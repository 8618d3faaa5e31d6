/** A conversation by an id of svc's own, and whose a message is. */
import { originsMax, type ConversationKey, type MessageOrigin } from '../../../domain/story.ts';
import { originOf, type OriginRecord } from '../../read/origins.ts';
import { fieldsOf } from '../../read/stored-json.ts';
import { fromText } from '../server/text.ts';
import { placed, type Ask } from './ask.ts';
import { findConversation } from './conversations.ts';
import { idCipherOf } from './id-cipher.ts';

export async function findConversationKey(ask: Ask, id: string): Promise<ConversationKey | null> {
  const where = (await idCipherOf(ask)).keyOf(id);
  return where === null || (await findConversation(ask, where)) === null ? null : where;
}

/** A longer body is not read for the name that is in it. */
const bodyBytesMax = 65_536;
const originIn = (table: string): string =>
  'SELECT id, channel, conversation, sender, ' +
  `CASE WHEN octet_length(body) <= ${bodyBytesMax} THEN body END AS body ` +
  `FROM svc.${table} WHERE id = ANY($1::text[])`;
const origins = `${originIn('inbox')} UNION ALL ${originIn('message')}`;

type Kept = OriginRecord & { readonly sender: string; readonly body: string | null };

export async function listOrigins(
  ask: Ask,
  messageIds: readonly string[],
): Promise<readonly MessageOrigin[]> {
  const [idCipher, found] = await Promise.all([
    idCipherOf(ask),
    ask<Kept>(origins, messageIds.slice(0, originsMax)),
  ]);
  const byId = new Map(found.map((row) => [row.id, originOf(idCipher, recordOf(placed(row)))]));
  return messageIds.flatMap((id) => byId.get(id) ?? []);
}

function recordOf({ id, channel, conversation, sender, body }: Kept): OriginRecord {
  const told = body === null ? { id: fromText(sender) } : fieldsOf(body)['sender'];
  return { id, channel, conversation, sender: JSON.stringify(told ?? null) };
}
