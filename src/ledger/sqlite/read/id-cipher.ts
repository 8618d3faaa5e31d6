import type { DatabaseSync } from 'node:sqlite';
import { ConversationIdCipher, idCipherPlace } from '../../read/id-cipher.ts';

const secret = 'SELECT value FROM cursors WHERE channel = ? AND name = ?';

export function idCipherOf(db: DatabaseSync): ConversationIdCipher {
  const found = db.prepare(secret).get(idCipherPlace.channel, idCipherPlace.name);
  return new ConversationIdCipher(String(found!['value']));
}
