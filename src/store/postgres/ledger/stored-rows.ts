/** Unsettled rows as order and totals need them: without what they say. */
import type { Failure } from '../../../domain/failure.ts';
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../../domain/ids.ts';
import type { FoundMessage, FoundReply } from '../../ledger/recovering.ts';
import { bytesOf } from '../../order/weight.ts';
import { fromText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';

export const messageColumns =
  'id, channel, conversation, accepted_at, sender, length(body) AS length, attempts, alone';

export const replyColumns =
  'id, channel, conversation, created_at, message_id, length(body) AS length, attempts, ' +
  'replayed, possible_duplicate, late, parked, due_at, failure';

/** @param seq its number in this process */
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

/** @param seq as for a message */
export function foundReply(row: Rows[number], seq: number): FoundReply {
  const conversation = fromText(String(row['conversation'])) as ConversationId;
  const { id, message_id: inReplyTo, due_at: dueAt } = row;
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
      why: whyOf(row['failure']),
    },
  };
}

function whyOf(failure: unknown): Pick<Failure, 'kind' | 'status'> | null {
  if (typeof failure !== 'string') return null;
  const { kind, status } = JSON.parse(failure) as Failure;
  return { kind, status };
}
