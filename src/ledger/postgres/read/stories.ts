/** One message: what happened to it, and what was said. */
import type { Story, StoryText } from '../../../domain/story.ts';
import { storyOf, storyTextOf, type MessageRecord, type ReplyRecord } from '../../read/stories.ts';
import type { SaidRecord } from '../../read/stories.ts';
import { listUsesOf } from './agents.ts';
import { num, placed, type Ask } from './ask.ts';
import { idCipherOf } from './id-cipher.ts';

const head = `id, channel, ${num('accepted_at', 'acceptedAt')}, attempts AS "diedUnder"`;
const message =
  `SELECT ${head}, 0 AS state, NULL::bigint AS "settledAt", NULL AS failure, NULL AS trace ` +
  'FROM svc.inbox WHERE id = $1 UNION ALL ' +
  `SELECT ${head}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, settled_at::bigint, failure, ` +
  'trace FROM svc.message WHERE id = $1';
const replyHead =
  `id, seq, ${num('created_at', 'createdAt')}, attempts, late, ` +
  'possible_duplicate AS "possibleDuplicate", tries, failure';
const replies =
  `SELECT ${replyHead}, 0 AS state, ${num('due_at', 'dueAt')}, ` +
  'NULL::bigint AS "settledAt", NULL::numeric AS "tookMs" FROM svc.outbox WHERE message_id = $1 ' +
  `UNION ALL SELECT ${replyHead}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, NULL, ` +
  'settled_at, took_ms::numeric FROM svc.sent WHERE message_id = $1 ORDER BY seq, id';

export async function findStory(ask: Ask, messageId: string): Promise<Story | null> {
  const [[told], rows] = await Promise.all([
    ask<MessageRecord & { readonly trace: string | null }>(message, messageId),
    ask<ReplyRecord>(replies, messageId),
  ]);
  return told === undefined ? null : storyOf(told, told.trace, rows);
}

const said =
  'SELECT channel, conversation, private, body, NULL AS unsent FROM svc.inbox WHERE id = $1 ' +
  'UNION ALL SELECT channel, conversation, private, body, unsent FROM svc.message WHERE id = $1';
const answeredIn = (table: string): string =>
  `SELECT id, seq, body FROM svc.${table} WHERE message_id = $1`;
const answered = `${answeredIn('outbox')} UNION ALL ${answeredIn('sent')} ORDER BY seq, id`;

export async function findStoryText(ask: Ask, messageId: string): Promise<StoryText | null> {
  const [idCipher, [found], rows, uses] = await Promise.all([
    idCipherOf(ask),
    ask<SaidRecord>(said, messageId),
    ask<{ readonly id: string; readonly body: string }>(answered, messageId),
    listUsesOf(ask, messageId),
  ]);
  return found === undefined ? null : storyTextOf(idCipher, placed(found), rows, uses);
}
