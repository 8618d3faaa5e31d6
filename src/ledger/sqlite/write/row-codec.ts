/** Converts messages and replies into rows, and back. */
import type { MessageId } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import type { Reply } from '../../../domain/reply.ts';
import type { Trace } from '../../../domain/trace.ts';
import {
  messageBody,
  messageFrom,
  replyBody,
  replyFrom,
  summaryOfTurn,
  traceText,
} from '../../engine/bodies.ts';
import type { Effects } from '../../ledger.ts';
import { labelOf, type Labels } from '../ledger/sensitivity-labels.ts';
import type { Value, Write } from './statements.ts';

export function acceptWrite(seq: number, message: Message): Write {
  const { id, channel, conversation, acceptedAt } = message;
  const label = labelOf(message.sensitivity);
  return ['accept', seq, id, channel, conversation, acceptedAt, messageBody(message), label];
}

export function replyWrite(seq: number, reply: Reply): Write {
  const { id, address, conversation, createdAt, inReplyTo } = reply;
  const body = replyBody(reply);
  return ['reply', seq, id, address.channel, conversation, createdAt, inReplyTo, body];
}

export function summaryValues(
  effects: Pick<Effects, 'trace'> | null,
): readonly [Value, Value, Value] {
  const { brain, outcome, model } = summaryOfTurn(effects);
  return [brain, outcome, model];
}

export function traceWrite(id: MessageId, trace: Trace): Write {
  return ['trace', id, traceText(trace)];
}

export type InboxRecord = {
  readonly seq: number;
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly accepted_at: number;
  readonly private: number | null;
  readonly body: string;
  readonly attempts: number;
  readonly alone: number;
};

export function messageOf(record: InboxRecord, labels: Labels): Message {
  const { accepted_at: acceptedAt, private: label, channel } = record;
  return messageFrom({ ...record, acceptedAt, sensitivity: labels.of(label, channel) });
}

export type OutboxRecord = {
  readonly seq: number;
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly created_at: number;
  readonly body: string;
  readonly attempts: number;
  readonly due_at: number | null;
  readonly late: number;
  readonly parked: number;
  readonly replayed: number;
  readonly possible_duplicate: number;
};

export function replyOf(record: OutboxRecord): Reply {
  return replyFrom({ ...record, createdAt: record.created_at });
}
