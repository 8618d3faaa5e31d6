/**
 * The live events: what happens in the service, at the time when it happens. They have ids of
 * messages and replies, states, codes and times. They have no text of a person or a model, and no
 * person's id or place.
 */
import type { Apology } from './decision.ts';
import type { Box, ChannelState } from './event.ts';
import type { FailureKind, ActionBy } from './failure.ts';
import type { TurnedAwayReason } from './gate.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from './ids.ts';
import type { GrantMode, ToolOutcome } from './tool-use.ts';

/**
 * `at` is in milliseconds since 1970; a field that ends with Ms is a length. `instance` is the
 * number of the instance where the event happened; null: it was the only instance. Events come in
 * the order in which svc heard of them, so a turn may begin before the acceptance of its message is
 * reported.
 */
export type LiveEvent =
  | TypedEvent<'message_accepted', { channel: ChannelKey; id: MessageId; duplicate: boolean }>
  | TypedEvent<'message_refused', { channel: ChannelKey; code: string }>
  | TypedEvent<'message_turned_away', { channel: ChannelKey; reason: TurnedAwayReason }>
  | TypedEvent<'turn_started', Turn & { waitedMs: number }>
  | TypedEvent<
      'turn_finished',
      Turn & {
        outcome: 'reply' | 'by_hand' | 'abandoned' | Apology;
        model: ModelName | null;
        ms: number;
      }
    >
  | TypedEvent<'command_answered', Turn & { command: string; ms: number }>
  | TypedEvent<
      'tool_used',
      Turn & { tool: string; mode: GrantMode; outcome: ToolOutcome; ms: number }
    >
  | TypedEvent<
      'model_answered',
      { model: ModelName; provider: string; result: 'answer' | FailureKind; ms: number }
    >
  | TypedEvent<'reply_delivered', Delivery & { totalMs: number }>
  | TypedEvent<'delivery_failed', Delivery & Failed & { nextAt: number | null }>
  | TypedEvent<'dead_letter', Failed & { box: Box; channel: ChannelKey; id: string }>
  | TypedEvent<'channel_changed', { channel: string; state: ChannelState; reason: string | null }>
  | TypedEvent<'plan_used', { revision: string; channels: number; brains: number }>
  | TypedEvent<'warned', { code: string; path: string | null }>
  | TypedEvent<'operator_wrote', { action: string; status: number }>;

/**
 * Replaces live events that a listener missed. Either it was too slow or away for too long, or
 * another instance sent fewer events than happened there. `count` null: the number is unknown,
 * since svc started anew or began only now to listen to another instance. `instance` is that other
 * instance; null: the events may be of any.
 */
export type Dropped = TypedEvent<'dropped', { count: number | null }>;

export type LiveEventKind = (LiveEvent | Dropped)['kind'];

type TypedEvent<Kind extends string, Fields> = {
  readonly kind: Kind;
  readonly at: number;
  readonly instance: number | null;
} & {
  readonly [Field in keyof Fields]: Fields[Field];
};

type Turn = { channel: ChannelKey; id: MessageId; brain: string };
type Delivery = { channel: ChannelKey; id: ReplyId; message: MessageId; attempt: number };
type Failed = { failure: FailureKind; whose: ActionBy; status: number | null };
