/** A conversation by an id of svc's own, and whose a message is. */
import type { DatabaseSync } from 'node:sqlite';
import { originsMax, type ConversationKey, type MessageOrigin } from '../../../domain/story.ts';
import { originOf, type OriginRecord } from '../../read/origins.ts';
import { findConversation } from './conversations.ts';
import { idCipherOf } from './id-cipher.ts';

export function findConversationKey(db: DatabaseSync, id: string): ConversationKey | null {
  const where = idCipherOf(db).keyOf(id);
  return where === null || findConversation(db, where) === null ? null : where;
}

/** Without the text, which may be long. */
const origin =
  "SELECT id, channel, conversation, iif(json_valid(body), body -> '$.sender', NULL) AS sender " +
  'FROM inbox WHERE id = ?';

export function listOrigins(
  db: DatabaseSync,
  messageIds: readonly string[],
): readonly MessageOrigin[] {
  const idCipher = idCipherOf(db);
  const find = db.prepare(origin);
  return messageIds.slice(0, originsMax).flatMap((id) => {
    const found = find.get(id) as unknown as OriginRecord | undefined;
    return found === undefined ? [] : [originOf(idCipher, found)];
  });
}
