/** One message: what happened to it, and what was said. */
import type { Story, StoryText } from '../../../domain/story.ts';
import { storyOf, storyTextOf, type MessageRecord, type ReplyRecord } from '../../read/stories.ts';
import { num, placed, type Ask } from './ask.ts';
import { sealOf } from './seal.ts';

const head = `id, channel, ${num('accepted_at', 'acceptedAt')}, attempts AS "diedUnder"`;
const message =
  `SELECT ${head}, 0 AS state, NULL::float8 AS "settledAt", NULL AS failure, NULL AS trace ` +
  'FROM svc.inbox WHERE id = $1 UNION ALL ' +
  `SELECT ${head}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, settled_at::float8, failure, ` +
  'trace FROM svc.message WHERE id = $1';
const replyHead =
  `id, seq, ${num('created_at', 'createdAt')}, attempts, late, ` +
  'possible_duplicate AS "possibleDuplicate", tries, failure';
const replies =
  `SELECT ${replyHead}, 0 AS state, ${num('due_at', 'dueAt')}, ` +
  'NULL::float8 AS "settledAt", NULL::float8 AS "tookMs" FROM svc.outbox WHERE message_id = $1 ' +
  `UNION ALL SELECT ${replyHead}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, NULL, ` +
  'settled_at::float8, took_ms FROM svc.sent WHERE message_id = $1 ORDER BY seq, id';

export async function findStory(ask: Ask, messageId: string): Promise<Story | null> {
  const [[told], rows] = await Promise.all([
    ask<MessageRecord & { readonly trace: string | null }>(message, messageId),
    ask<ReplyRecord>(replies, messageId),
  ]);
  return told === undefined ? null : storyOf(told, told.trace, rows);
}

type Said = { readonly channel: string; readonly conversation: string; readonly body: string };

const saidIn = (table: string): string =>
  `SELECT channel, conversation, body FROM svc.${table} WHERE id = $1`;
const said = `${saidIn('inbox')} UNION ALL ${saidIn('message')}`;
const answeredIn = (table: string): string =>
  `SELECT id, seq, body FROM svc.${table} WHERE message_id = $1`;
const answered = `${answeredIn('outbox')} UNION ALL ${answeredIn('sent')} ORDER BY seq, id`;

export async function findStoryText(ask: Ask, messageId: string): Promise<StoryText | null> {
  const [seal, [found], rows] = await Promise.all([
    sealOf(ask),
    ask<Said>(said, messageId),
    ask<{ readonly id: string; readonly body: string }>(answered, messageId),
  ]);
  return found === undefined ? null : storyTextOf(seal, placed(found), rows);
}
