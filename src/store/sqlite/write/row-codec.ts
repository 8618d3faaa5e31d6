/** What is kept of a message or a reply as one JSON text, beside the columns that are queried. */
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import type { Reply } from '../../../domain/reply.ts';
import { summaryOf, type Trace } from '../../../domain/trace.ts';
import type { Effects } from '../../store.ts';
import { stampOf, type Stamps } from '../ledger/stamps.ts';
import type { Value, Write } from './statements.ts';

export function acceptWrite(seq: number, message: Message): Write {
  const { id, channel, conversation, acceptedAt, sender, text, media, address } = message;
  const { pairingCode } = message;
  const body = JSON.stringify({ sender, text, media, target: address.target, pairingCode });
  const stamp = stampOf(message.sensitivity);
  return ['accept', seq, id, channel, conversation, acceptedAt, body, stamp];
}

export function replyWrite(seq: number, reply: Reply): Write {
  const { id, address, conversation, createdAt, inReplyTo, brain, text, sessionStarted } = reply;
  const body = JSON.stringify({ inReplyTo, brain, text, sessionStarted, target: address.target });
  return ['reply', seq, id, address.channel, conversation, createdAt, inReplyTo, body];
}

/** Brain, outcome and model; they are kept also where the trace itself is left out. */
export function summaryValues(effects: Effects | null): readonly [Value, Value, Value] {
  const trace = effects?.trace ?? null;
  if (trace === null) return [null, null, null];
  const { brain, outcome, model } = summaryOf(trace);
  return [brain, outcome, model];
}

const traceLengthMax = 2_048;

/** A trace that is too long keeps when, who, how it ended, and the first steps that fit. */
export function traceWrite(id: MessageId, trace: Trace): Write {
  const whole = JSON.stringify(trace);
  return ['trace', id, whole.length <= traceLengthMax ? whole : shortened(trace)];
}

function shortened(trace: Trace): string {
  let left = traceLengthMax - JSON.stringify({ ...trace, steps: [] }).length;
  const fit = trace.steps.findIndex((step) => (left -= JSON.stringify(step).length + 1) < 0);
  return JSON.stringify({ ...trace, steps: trace.steps.slice(0, fit) });
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

export function messageOf(record: InboxRecord, stamps: Stamps): Message {
  const { target, ...body } = JSON.parse(record.body) as Pick<
    Message,
    'sender' | 'text' | 'media' | 'pairingCode'
  > & { target: string };
  const channel = record.channel as ChannelKey;
  return {
    ...body,
    id: record.id as MessageId,
    channel,
    conversation: record.conversation as ConversationId,
    address: { channel, target },
    acceptedAt: record.accepted_at,
    sensitivity: stamps.of(record.private, channel),
  };
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
  const { target, ...body } = JSON.parse(record.body) as Pick<
    Reply,
    'inReplyTo' | 'brain' | 'text' | 'sessionStarted'
  > & { target: string };
  return {
    ...body,
    id: record.id as ReplyId,
    conversation: record.conversation as ConversationId,
    address: { channel: record.channel as ChannelKey, target },
    createdAt: record.created_at,
  };
}
