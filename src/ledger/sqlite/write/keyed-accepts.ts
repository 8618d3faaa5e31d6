/** Messages with a key: whether one came before, and whether it said the same. */
import type { DatabaseSync } from 'node:sqlite';
import type { KeyedAccept, KnownMessage, Value } from './statements.ts';

const remember =
  'INSERT INTO dedupe (channel, key, message_id, expires_at, fingerprint) ' +
  'VALUES (?, ?, ?, ?, ?) ' +
  // A key that has expired counts as new, also before it has been swept away.
  'ON CONFLICT DO UPDATE SET message_id = excluded.message_id, ' +
  'expires_at = excluded.expires_at, fingerprint = excluded.fingerprint WHERE expires_at <= ?';

// Without a fingerprint on either side there is nothing to compare.
const recall =
  'SELECT message_id AS id, coalesce(fingerprint <> ?, 0) AS reused FROM dedupe ' +
  'WHERE channel = ? AND key = ?';

const differs = (field: string): string => `was.body -> '${field}' IS NOT ?5 -> '${field}'`;

const saysElse = ['$.sender', '$.text', '$.media'].map(differs).join(' OR ');

/**
 * By a key of before, which was the sender's word alone. What the message itself still tells counts
 * as well; once it is gone its key is known whoever comes with it.
 */
const recallFormer =
  `SELECT was.id IS NOT NULL AND (${saysElse}) AS reused, ` +
  'message_id AS id FROM dedupe LEFT JOIN inbox AS was ON was.id = message_id ' +
  'WHERE dedupe.channel = ?1 AND key = ?2 AND fingerprint IS NULL AND expires_at > ?3 ' +
  `AND (was.id IS NULL OR (was.conversation = ?4 AND NOT (${differs('$.sender.id')})))`;

/**
 * @returns what remembers the key of a message, or tells which message came before with it; within
 *   the transaction that writes the message
 */
export function prepareKeyedAccepts(db: DatabaseSync): (keyed: KeyedAccept) => KnownMessage | null {
  const remembering = db.prepare(remember);
  const recalling = db.prepare(recall);
  const recallingFormer = db.prepare(recallFormer);
  const { until } = db.prepare('SELECT former_keys_until AS until FROM owner').get() as {
    until: number;
  };
  const told = (row: Record<string, Value>): KnownMessage => {
    return { id: String(row['id']), reused: row['reused'] === 1 };
  };
  return ({ key, expiresAt, check, write }) => {
    const [, , id, channel, conversation, acceptedAt, body] = write;
    if (check !== null && Number(acceptedAt) < until) {
      const { formerKey } = check;
      const asked = [channel!, formerKey, acceptedAt!, conversation!, body!];
      const former = recallingFormer.get(...asked);
      if (former !== undefined) return told(former as Record<string, Value>);
    }
    const fingerprint = check?.fingerprint ?? null;
    const { changes } = remembering.run(channel!, key, id!, expiresAt, fingerprint, acceptedAt!);
    if (changes > 0) return null;
    return told(recalling.get(fingerprint, channel!, key) as Record<string, Value>);
  };
}
