/**
 * The JSON texts of messages, replies and traces, which a storage keeps besides the columns that it
 * queries, and the stored rows of attachments.
 */
import type { Attachment, Picture } from '../../domain/attachment.ts';
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { summaryOf, type Trace } from '../../domain/trace.ts';
import type { Effects } from '../ledger.ts';

export function messageBody(message: Message): string {
  const { sender, text, media, further, context, gather, address, route, chatAliases } = message;
  const { pairingCode, approval, welcome, preview } = message;
  const { target } = address;
  const said = { sender, text, media, further, context, gather, target, route, chatAliases };
  return JSON.stringify({ ...said, pairingCode, approval, welcome, preview });
}

export function replyBody(reply: Reply): string {
  const { inReplyTo, brain, text, sessionStarted, address, choices, replaces, file } = reply;
  const { isApology } = reply;
  const said = { inReplyTo, brain, text, sessionStarted, target: address.target };
  return JSON.stringify({ ...said, choices, replaces, isApology, file });
}

/** A stored message. `acceptedAt`: milliseconds since 1970. */
export type MessageRecord = {
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly acceptedAt: number;
  readonly sensitivity: Sensitivity;
  readonly body: string;
};

/** The fields of the JSON: all that have no column of their own. */
type MessageBody = Omit<Message, keyof MessageRecord | 'address'> & { readonly target: string };

/** @throws when the body is damaged */
export function messageFrom(record: MessageRecord): Message {
  const { target, ...body } = JSON.parse(record.body) as MessageBody;
  const channel = record.channel as ChannelKey;
  return {
    ...body,
    id: record.id as MessageId,
    channel,
    conversation: record.conversation as ConversationId,
    address: { channel, target },
    acceptedAt: record.acceptedAt,
    sensitivity: record.sensitivity,
  };
}

/** A stored reply. `createdAt`: milliseconds since 1970. */
export type ReplyRecord = {
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly createdAt: number;
  readonly body: string;
};

type ReplyBody = Omit<Reply, keyof ReplyRecord | 'address'> & { readonly target: string };

/** @throws when the body is damaged */
export function replyFrom(record: ReplyRecord): Reply {
  const { target, ...body } = JSON.parse(record.body) as ReplyBody;
  return {
    ...body,
    id: record.id as ReplyId,
    conversation: record.conversation as ConversationId,
    address: { channel: record.channel as ChannelKey, target },
    createdAt: record.createdAt,
  };
}

/** Brain, outcome and model of a turn. They are kept even if its trace is dropped. */
type Summary = {
  readonly brain: string | null;
  readonly outcome: string | null;
  readonly model: string | null;
};

export function summaryOfTurn(effects: Pick<Effects, 'trace'> | null): Summary {
  const trace = effects?.trace ?? null;
  if (trace === null) return { brain: null, outcome: null, model: null };
  const { brain, outcome, model } = summaryOf(trace);
  return { brain, outcome, model };
}

/** The answers of models that were not sent, as JSON; null: none. */
export function unsentText(effects: Effects | null): string | null {
  if (effects === null || effects.unsent.length === 0) return null;
  return JSON.stringify(effects.unsent.map(({ model, text }) => [model, text]));
}

const traceLengthMax = 2_560;

/**
 * A trace as JSON. A trace that is too long keeps its fields, the first steps that fit, and the
 * steps of the policy.
 */
export function traceText(trace: Trace): string {
  const whole = JSON.stringify(trace);
  return whole.length <= traceLengthMax ? whole : shortened(trace);
}

function shortened(trace: Trace): string {
  const textOf = (steps: Trace['steps']): string => JSON.stringify({ ...trace, steps });
  const policy = trace.steps.filter(({ kind }) => kind === 'policy');
  const why = textOf(policy).length <= traceLengthMax ? policy : [];
  const others = trace.steps.filter(({ kind }) => kind !== 'policy');
  let left = traceLengthMax - textOf(why).length;
  const fit = others.findIndex((step) => (left -= JSON.stringify(step).length + 1) < 0);
  return textOf([...(fit === -1 ? others : others.slice(0, fit)), ...why]);
}

/** `content`: a text, or a picture in base64. `type`: the type of a picture, else null. */
type AttachmentRow = {
  readonly place: number;
  readonly kind: Attachment['kind'];
  readonly name: string;
  readonly type: string | null;
  readonly content: string;
};

export function attachmentRows(attachments: readonly Attachment[]): readonly AttachmentRow[] {
  return attachments.map((one, place) => {
    const row = { place, kind: one.kind, name: one.name, type: null };
    switch (one.kind) {
      case 'picture': {
        const { type, bytes } = one.picture;
        return { ...row, type, content: Buffer.from(bytes).toString('base64') };
      }
      case 'text':
      case 'spoken':
        return { ...row, content: one.text };
      case 'unread':
        return { ...row, content: one.why };
      default:
        return one satisfies never;
    }
  });
}

/** A kind that this release does not know becomes `unread`. */
export function attachmentOf({ kind, name, type, content }: Record<string, unknown>): Attachment {
  const named = String(name);
  const text = String(content);
  switch (kind) {
    case 'picture':
      return { kind, name: named, picture: pictureOf(type, text) };
    case 'text':
    case 'spoken':
      return { kind, name: named, text };
    default:
      return { kind: 'unread', name: named, why: text };
  }
}

export function pictureOf(type: unknown, content: string): Picture {
  const known = type === 'image/png' ? type : 'image/jpeg';
  return { type: known, bytes: Buffer.from(content, 'base64') };
}

/** Groups rows by their `message_id`, in the order of the rows. */
export function byMessage(rows: readonly Record<string, unknown>[]): readonly Attachment[][] {
  return [...Map.groupBy(rows, (row) => row['message_id']).values()].map((of) =>
    of.map(attachmentOf),
  );
}

/** A message gets its id at most this long before it is accepted. */
export const idLagMs = 60_000;
