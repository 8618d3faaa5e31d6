/**
 * What is told live of what happens, as it happens: ids of messages and replies, states, codes and
 * times; nothing that a person or a model wrote, and nothing of who or where anybody is.
 */
import type { Apology } from './decision.ts';
import type { Box, ChannelState } from './event.ts';
import type { FailureKind, ActionBy } from './failure.ts';
import type { TurnedAwayReason } from './gate.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from './ids.ts';
import type { GrantMode, ToolOutcome } from './tool-use.ts';

/**
 * `at` is in milliseconds since 1970, what ends with Ms a length. `instance` is the number of the
 * one that it happened at; null: it had no others beside it. Frames come in the order in which svc
 * heard of things: a turn may have begun before its message's acceptance is told.
 */
export type LiveEvent =
  | Told<'message_accepted', { channel: ChannelKey; id: MessageId; duplicate: boolean }>
  | Told<'message_refused', { channel: ChannelKey; code: string }>
  | Told<'message_turned_away', { channel: ChannelKey; reason: TurnedAwayReason }>
  | Told<'turn_started', Turn & { waitedMs: number }>
  | Told<
      'turn_finished',
      Turn & { outcome: 'reply' | 'by_hand' | Apology; model: ModelName | null; ms: number }
    >
  | Told<'command_answered', Turn & { command: string; ms: number }>
  | Told<'tool_used', Turn & { tool: string; mode: GrantMode; outcome: ToolOutcome; ms: number }>
  | Told<
      'model_answered',
      { model: ModelName; provider: string; result: 'answer' | FailureKind; ms: number }
    >
  | Told<'reply_delivered', Delivery & { totalMs: number }>
  | Told<'delivery_failed', Delivery & Failed & { nextAt: number | null }>
  | Told<'dead_letter', Failed & { box: Box; channel: ChannelKey; id: string }>
  | Told<'channel_changed', { channel: string; state: ChannelState; reason: string | null }>
  | Told<'plan_used', { revision: string; channels: number; brains: number }>
  | Told<'warned', { code: string; path: string | null }>
  | Told<'operator_wrote', { action: string; status: number }>;

/**
 * Said in the place of frames that a listener missed: it was too slow, or was away for too long; or
 * another instance told less than happened there. `count` null: nobody knows how many, since svc
 * was started anew, or another instance was not listened to until now. `instance` is that other
 * one, where it is one; null: they may be of any.
 */
export type Dropped = Told<'dropped', { count: number | null }>;

export type LiveEventKind = (LiveEvent | Dropped)['kind'];

type Told<Kind extends string, Fields> = {
  readonly kind: Kind;
  readonly at: number;
  readonly instance: number | null;
} & {
  readonly [Field in keyof Fields]: Fields[Field];
};

type Turn = { channel: ChannelKey; id: MessageId; brain: string };
type Delivery = { channel: ChannelKey; id: ReplyId; message: MessageId; attempt: number };
type Failed = { failure: FailureKind; whose: ActionBy; status: number | null };
