import type { Dropped, LiveEvent, LiveEventKind } from '../../domain/live-event.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from '../../domain/ids.ts';
import { apologies } from '../../domain/decision.ts';
import { failureKinds } from '../../domain/failure.ts';
import { turnedAwayReasons } from '../../domain/gate.ts';
import { grantModes, toolOutcomes } from '../../domain/tool-use.ts';
import {
  boolean,
  integer,
  kinds,
  maybe,
  maybeInteger,
  maybeText,
  Misshapen,
  objectWith,
  oneOf,
  only,
  read,
  text,
  type IdText,
  type Schema,
} from './schema.ts';

const channel = text as IdText<ChannelKey>;
const modelName = text as IdText<ModelName>;
const message = text as IdText<MessageId>;
const turn = { channel, id: message, brain: text };
const delivery = { channel, id: text as IdText<ReplyId>, message, attempt: integer };
const failed = {
  failure: oneOf(...failureKinds),
  whose: oneOf('sender', 'operator', 'provider', 'us'),
  status: maybeInteger,
};
/** The schema of `LiveEvent` and `Dropped` in domain/live-event.ts. */
export const liveEventSchema = kinds(
  liveEvent('message_accepted', { channel, id: message, duplicate: boolean }),
  liveEvent('message_refused', { channel, code: text }),
  liveEvent('message_turned_away', { channel, reason: oneOf(...turnedAwayReasons) }),
  liveEvent('turn_started', { ...turn, waitedMs: integer }),
  liveEvent('turn_finished', {
    ...turn,
    outcome: oneOf('reply', 'by_hand', 'abandoned', ...apologies),
    model: maybe(modelName),
    ms: integer,
  }),
  liveEvent('command_answered', { ...turn, command: text, ms: integer }),
  liveEvent('tool_used', {
    ...turn,
    tool: text,
    mode: oneOf(...grantModes),
    outcome: oneOf(...toolOutcomes),
    ms: integer,
  }),
  liveEvent('model_answered', {
    model: modelName,
    provider: text,
    result: oneOf('answer', ...failureKinds),
    ms: integer,
  }),
  liveEvent('reply_delivered', { ...delivery, totalMs: integer }),
  liveEvent('delivery_failed', { ...delivery, ...failed, nextAt: maybeInteger }),
  liveEvent('dead_letter', { box: oneOf('in', 'out'), channel, id: text, ...failed }),
  liveEvent('channel_changed', {
    channel: text,
    state: oneOf('starting', 'up', 'degraded', 'failed', 'stopped'),
    reason: maybeText,
  }),
  liveEvent('plan_used', { revision: text, channels: integer, brains: integer }),
  liveEvent('warned', { code: text, path: maybeText }),
  liveEvent('operator_wrote', { action: text, status: integer }),
  liveEvent('dropped', { count: maybeInteger }),
);

/** In the order of the schema. */
export const liveEventKinds: readonly LiveEventKind[] = liveEventSchema.oneOf.map(
  ({ properties }) => properties.kind.enum[0],
);

/**
 * The event with the fields of the schema and nothing else that it may contain. It has no
 * `instance` if there is only one.
 */
export function liveEventOf(one: LiveEvent | Dropped): unknown {
  const { instance, ...fields } = only(liveEventSchema, one) as LiveEvent | Dropped;
  return instance === null ? fields : { ...fields, instance };
}

/** @returns null: an event of a kind that only a newer svc knows */
export function readLiveEvent(received: unknown): LiveEvent | null {
  try {
    const one = read(liveEventSchema, received);
    return one.kind === 'dropped' ? null : one;
  } catch (error) {
    if (error instanceof Misshapen) return null;
    throw error;
  }
}

function liveEvent<const Kind extends string, const P extends Readonly<Record<string, Schema>>>(
  kind: Kind,
  properties: P,
) {
  const required = { kind: oneOf(kind), at: integer, ...properties };
  return objectWith(required, { instance: maybeInteger });
}
