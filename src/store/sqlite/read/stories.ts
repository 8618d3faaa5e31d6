/** One message: what happened to it, and what was said. */
import type { DatabaseSync } from 'node:sqlite';
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { Media } from '../../../domain/message.ts';
import type { ReplyStory, Story, StoryText } from '../../../domain/story.ts';
import { failureOf, fieldsOf, traceOf, triesOf } from './stored-json.ts';

type InboxTold = {
  readonly id: string;
  readonly channel: string;
  readonly acceptedAt: number;
  readonly state: number;
  readonly diedUnder: number;
  readonly settledAt: number | null;
  readonly failure: string | null;
};

type OutboxTold = {
  readonly id: string;
  readonly createdAt: number;
  readonly state: number;
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly late: number;
  readonly possibleDuplicate: number;
  readonly settledAt: number | null;
  readonly tookMs: number | null;
  readonly tries: string | null;
  readonly failure: string | null;
};

const message =
  'SELECT id, channel, accepted_at AS acceptedAt, state, attempts AS diedUnder, ' +
  'settled_at AS settledAt, failure FROM inbox WHERE id = ?';
const replies =
  'SELECT id, created_at AS createdAt, state, attempts, due_at AS dueAt, late, ' +
  'possible_duplicate AS possibleDuplicate, settled_at AS settledAt, took_ms AS tookMs, tries, ' +
  'failure FROM outbox WHERE message_id = ? ORDER BY seq';

const states = ['waiting', 'answered', 'dead'] as const;
const replyStates = ['waiting', 'delivered', 'dead'] as const;

export function findStory(db: DatabaseSync, messageId: string): Story | null {
  const told = db.prepare(message).get(messageId) as InboxTold | undefined;
  if (told === undefined) return null;
  const trace = db.prepare('SELECT body FROM traces WHERE message_id = ?').get(messageId);
  const rows = db.prepare(replies).all(messageId) as unknown as OutboxTold[];
  return {
    id: told.id,
    channel: told.channel as ChannelKey,
    acceptedAt: told.acceptedAt,
    state: states[told.state] ?? 'waiting',
    diedUnder: told.diedUnder,
    settledAt: told.settledAt,
    failure: failureOf(told.failure),
    trace: trace === undefined ? null : traceOf(String(trace['body'])),
    replies: rows.map(replyStory),
  };
}

function replyStory(row: OutboxTold): ReplyStory {
  const state = replyStates[row.state] ?? 'waiting';
  const { settledAt, tookMs } = row;
  const delivered = state === 'delivered';
  const seen = delivered && settledAt !== null && tookMs !== null;
  return {
    id: row.id,
    createdAt: row.createdAt,
    state,
    // The column counts the tries that failed.
    attempts: row.attempts + (delivered ? 1 : 0),
    possibleDuplicate: row.possibleDuplicate === 1,
    late: row.late === 1,
    dueAt: state === 'waiting' ? row.dueAt : null,
    settledAt,
    tries: triesOf(row.tries, seen ? { at: settledAt, ms: tookMs } : null),
    // The reason for putting a reply off is in its tries; the reply itself did not fail.
    failure: delivered ? null : failureOf(row.failure),
  };
}

export function findStoryText(db: DatabaseSync, messageId: string): StoryText | null {
  const found = db.prepare('SELECT conversation, body FROM inbox WHERE id = ?').get(messageId);
  if (found === undefined) return null;
  const said = saidIn(String(found['body']));
  if (said === null) return null;
  const rows = db
    .prepare('SELECT id, body FROM outbox WHERE message_id = ? ORDER BY seq')
    .all(messageId);
  return {
    ...said,
    conversation: String(found['conversation']) as ConversationId,
    replies: rows.map((row) => ({
      id: String(row['id']),
      text: textIn(String(row['body'])) ?? '',
    })),
  };
}

function saidIn(body: string): Pick<StoryText, 'sender' | 'text' | 'media'> | null {
  const { sender, text, media } = fieldsOf(body);
  if (typeof text !== 'string' || typeof sender !== 'object' || sender === null) return null;
  const { id, name } = sender as Readonly<Record<string, unknown>>;
  if (typeof id !== 'string') return null;
  return {
    sender: { id, name: typeof name === 'string' ? name : null },
    text,
    media: mediaIn(media),
  };
}

function mediaIn(media: unknown): Media | null {
  if (typeof media !== 'object' || media === null) return null;
  const { type, reference } = media as Readonly<Record<string, unknown>>;
  if (typeof reference !== 'string') return null;
  return { type: typeof type === 'string' ? type : null, reference };
}

/** The text of a message or a reply; null where it cannot be read any more. */
export function textIn(body: string): string | null {
  const { text } = fieldsOf(body);
  return typeof text === 'string' ? text : null;
}
