/** One message: what happened to it, and what was said. */
import type { DatabaseSync } from 'node:sqlite';
import type { Story, StoryText } from '../../../domain/story.ts';
import { idCipherOf } from './id-cipher.ts';
import { storyOf, storyTextOf, type MessageRecord, type ReplyRecord } from '../../read/stories.ts';
import type { SaidRecord } from '../../read/stories.ts';
import { listUsesOf } from './agents.ts';

const message =
  'SELECT id, channel, accepted_at AS acceptedAt, state, attempts AS diedUnder, ' +
  'settled_at AS settledAt, failure FROM inbox WHERE id = ?';
const replies =
  'SELECT id, created_at AS createdAt, state, attempts, due_at AS dueAt, late, ' +
  'possible_duplicate AS possibleDuplicate, settled_at AS settledAt, took_ms AS tookMs, tries, ' +
  'failure FROM outbox WHERE message_id = ? ORDER BY seq';

const saidIn =
  'SELECT channel, conversation, body, unsent, ' +
  'coalesce(private, channel NOT IN (SELECT channel FROM public_before)) AS private ' +
  'FROM inbox WHERE id = ?';

export function findStory(db: DatabaseSync, messageId: string): Story | null {
  const told = db.prepare(message).get(messageId) as MessageRecord | undefined;
  if (told === undefined) return null;
  const trace = db.prepare('SELECT body FROM traces WHERE message_id = ?').get(messageId);
  const rows = db.prepare(replies).all(messageId) as unknown as ReplyRecord[];
  return storyOf(told, trace === undefined ? null : String(trace['body']), rows);
}

export function findStoryText(db: DatabaseSync, messageId: string): StoryText | null {
  const found = db.prepare(saidIn).get(messageId) as SaidRecord | undefined;
  if (found === undefined) return null;
  const rows = db
    .prepare('SELECT id, body FROM outbox WHERE message_id = ? ORDER BY seq')
    .all(messageId);
  return storyTextOf(
    idCipherOf(db),
    found,
    rows.map((row) => ({ id: String(row['id']), body: String(row['body']) })),
    listUsesOf(db, messageId),
  );
}
