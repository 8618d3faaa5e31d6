import type { DatabaseSync } from 'node:sqlite';
import { ConversationSeal, sealPlace } from '../../read/id-cipher.ts';

const secret = 'SELECT value FROM cursors WHERE channel = ? AND name = ?';

export function sealOf(db: DatabaseSync): ConversationSeal {
  const found = db.prepare(secret).get(sealPlace.channel, sealPlace.name);
  return new ConversationSeal(String(found!['value']));
}
