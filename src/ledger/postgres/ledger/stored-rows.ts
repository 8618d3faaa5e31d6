/** Reads unsettled rows without their texts, as order and totals need them. */
import type { Failure } from '../../../domain/failure.ts';
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../../domain/ids.ts';
import type { FoundMessage, FoundReply } from '../../engine/crash-isolation.ts';
import { bytesOf } from '../../engine/queue.ts';
import { longestGapsMs, pacedMsMin } from '../../engine/schedule.ts';
import { retryAfterMsMax } from '../../ledger.ts';
import { fromText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';

export const messageColumns =
  'id, channel, conversation, accepted_at, sender, length(body) AS length, attempts, alone';

export const replyColumns =
  'id, channel, conversation, created_at, message_id, length(body) AS length, attempts, ' +
  'replayed, possible_duplicate, late, parked, due_at, failure';

/**
 * SQL for the latest time of a reply's next try, the same rule as `plannedTry` of
 * `engine/schedule.ts`.
 * @param now SQL for milliseconds since 1970
 */
export function latestTry(now: string): string {
  const gap = `coalesce(('{${longestGapsMs.join()}}'::float8[])[attempts - replayed], 0)`;
  const asked = "coalesce((failure::json ->> 'retryAfterMs')::float8, 0)";
  const most = `greatest(${gap}, least(${asked}, ${retryAfterMsMax}), ${pacedMsMin})`;
  return `${now}::bigint + ceil(${most})::bigint`;
}

/** @param seq the number of the row in this process */
export function foundMessage(row: Rows[number], seq: number): Omit<FoundMessage, 'answered'> {
  const conversation = fromText(String(row['conversation'])) as ConversationId;
  return {
    stored: {
      head: { id: row['id'] as MessageId, acceptedAt: Number(row['accepted_at']) },
      channel: row['channel'] as ChannelKey,
      conversation,
      seq,
      bytes: bytesOf(Number(row['length']) + 2 * conversation.length),
      sender: fromText(String(row['sender'])),
    },
    attempts: Number(row['attempts']),
    alone: Number(row['alone']),
  };
}

/** @param seq the number of the row in this process */
export function foundReply(row: Rows[number], seq: number): FoundReply {
  const conversation = fromText(String(row['conversation'])) as ConversationId;
  const { id, message_id: inReplyTo, due_at: dueAt } = row;
  const why = whyOf(row['failure']);
  return {
    stored: {
      head: {
        id: id as ReplyId,
        inReplyTo: inReplyTo as MessageId,
        createdAt: Number(row['created_at']),
      },
      channel: row['channel'] as ChannelKey,
      conversation,
      seq,
      bytes: bytesOf(Number(row['length']) + conversation.length),
    },
    state: {
      attempt: Number(row['attempts']) + 1,
      replayedAfter: Number(row['replayed']),
      possibleDuplicate: row['possible_duplicate'] === true,
      late: row['late'] === true,
      parked: row['parked'] === true,
      dueAt: dueAt === null ? null : Number(dueAt),
      why: why === null ? null : { kind: why.kind, status: why.status },
    },
    retryAfterMs: why?.retryAfterMs ?? null,
  };
}

function whyOf(failure: unknown): Failure | null {
  return typeof failure === 'string' ? (JSON.parse(failure) as Failure) : null;
}
