import type { ApprovalId, Verdict, Yes } from './approval.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from './ids.ts';
import type { Decision } from './decision.ts';
import type { Failure, FailureKind } from './failure.ts';
import type { Shortage } from './remedy.ts';
import type { TurnedAwayReason } from './gate.ts';
import type { Sender } from './message.ts';
import type { SpendLimit, Used } from './spend.ts';
import type { GrantMode, ToolOutcome } from './tool-use.ts';
import type { Unread } from './attachment.ts';

export type Box = 'in' | 'out';

/** A channel's state: `failed` stays so until a person acts, `degraded` is being retried. */
export type ChannelState = 'starting' | 'up' | 'degraded' | 'failed' | 'stopped';

export type BearerFault = 'missing' | 'wrong';

/** What a look found; `reached`: its provider answers, and does not say which models it has. */
export type Found = 'there' | 'reached' | FailureKind;

/**
 * The one hub. Every room says what happened by calling one method here, and the log line, the
 * metric and the live event come from it (src/telemetry/events.ts). Methods return at once and
 * never throw.
 */
export interface Events {
  messageAccepted(e: { channel: ChannelKey; id: MessageId; duplicate: boolean }): void;
  messageRefused(e: { channel: ChannelKey; code: string }): void;
  /** The gate of a messenger turned the message away: it is handled, and never a row. */
  messageTurnedAway(e: { channel: ChannelKey; reason: TurnedAwayReason }): void;
  /** So many updates were confirmed to the platform before they were safe, to let others come. */
  confirmedEarly(e: { channel: ChannelKey; count: number }): void;
  turnStarted(e: { channel: ChannelKey; id: MessageId; brain: string; waitedMs: number }): void;
  /** Neither a line of the log nor a frame names the sender, here and below. */
  turnFinished(e: {
    channel: ChannelKey;
    id: MessageId;
    sender: Sender;
    brain: string;
    decision: Decision;
    ms: number;
  }): void;
  /** Something that came with a message was not read. Nothing of it is told, and no id. */
  attachmentUnread(e: { channel: ChannelKey } & Unread): void;
  /** svc itself answered a command. */
  commandAnswered(e: {
    channel: ChannelKey;
    id: MessageId;
    sender: Sender;
    brain: string;
    command: string;
    ms: number;
  }): void;
  /** An operator answered it, with a reply of its own or with that to a later message. */
  answeredByOperator(e: { channel: ChannelKey; id: MessageId; brain: string; ms: number }): void;
  /** A call that an agent's model asked for, whatever became of it. Its arguments are not told. */
  toolUsed(e: {
    channel: ChannelKey;
    id: MessageId;
    brain: string;
    tool: string;
    mode: GrantMode;
    rule: string;
    outcome: ToolOutcome;
    ms: number;
  }): void;
  /** A call waits for a yes. Neither its arguments nor any person is told, here and below. */
  approvalAsked(e: { channel: ChannelKey; id: MessageId; brain: string; tool: string }): void;
  /** `id`: the approval; `by` null: its time was over. */
  approvalDecided(e: {
    channel: ChannelKey;
    id: ApprovalId;
    brain: string;
    tool: string;
    verdict: Verdict;
    by: Yes['by'] | null;
  }): void;
  /** So many wait in all, seen just now. */
  approvalsWait(count: number): void;
  /** A call of the model begins; `modelAnswered` tells its end, whatever that is. */
  modelAsked(e: { model: ModelName; provider: string }): void;
  /** `brain`: the one that asked; left out: none did. */
  modelAnswered(e: {
    brain?: string | undefined;
    model: ModelName;
    provider: string;
    result: 'answer' | FailureKind;
    ms: number;
    /** What its provider said of the failure, scrubbed; left out: nothing. */
    said?: string;
    /** The HTTP status of the failure; left out: no answer came. */
    status?: number;
    /** Its provider cut the answer at a limit of its length; left out: it is whole. */
    isCut?: true;
    /** The share of the last prompt that this one began with, 0 to 1; left out: none is known. */
    reuse?: number;
  }): void;
  /** What one call to a provider used, whatever it was for and however it ended. */
  modelSpent(e: { brain: string; model: ModelName; used: Used }): void;
  /** Said once a day for each brain, limit and state. Whose day it was of a sender is not told. */
  budgetReached(e: {
    brain: string;
    limit: SpendLimit['kind'];
    /** What the limit allowed. */
    most: SpendLimit['most'];
    state: 'nearly_used' | 'used_up';
    /** The service's local day, `YYYY-MM-DD`. */
    day: string;
  }): void;
  /** A look without any content: whether the model is there. It is no call, and counted nowhere. */
  modelLooked(e: { model: ModelName; provider: string; found: Found }): void;
  /** `message`: the id of the message that the reply answers. */
  replyDelivered(e: {
    channel: ChannelKey;
    id: ReplyId;
    message: MessageId;
    attempt: number;
    totalMs: number;
  }): void;
  /** A try at it begins: the only method that is called before what it tells of was kept. */
  deliveryBegan(channel: ChannelKey): void;
  /** The try is over, however it ended; what became of the reply follows once it is kept. */
  deliveryEnded(channel: ChannelKey): void;
  deliveryFailed(e: {
    channel: ChannelKey;
    id: ReplyId;
    message: MessageId;
    attempt: number;
    failure: Failure;
    /** When it is tried again, milliseconds since 1970; null: never, and `buried` follows. */
    nextAt: number | null;
  }): void;
  /** A dead letter; the only method that counts one. */
  buried(e: { box: Box; channel: ChannelKey; id: string; failure: Failure }): void;
  channelChanged(e: { channel: string; state: ChannelState; reason: string | null }): void;
  /** `models`: all that the brains of the plan may ask. */
  configUsed(e: {
    revision: string;
    channels: number;
    brains: number;
    models: readonly { readonly name: ModelName; readonly provider: string }[];
  }): void;
  /** Something an operator should know and may act on; `code` is stable. */
  warned(e: { code: string; message: string; path?: string }): void;
  /** A milestone of the process: listening, draining, drained. */
  noticed(e: { code: string; message: string; details?: Record<string, unknown> }): void;
  /**
   * An operator used a write of the admin API, whatever came of it. `target` holds the ids that it
   * was about, never text; `status` is the HTTP status of the answer.
   */
  operatorWrote(e: {
    action: string;
    target: Readonly<Record<string, string>>;
    status: number;
  }): void;
  /**
   * A configuration was to be taken into use while svc runs, by a signal or over the admin API.
   * `result` is `applied` or the code of the refusal, which `detail` explains.
   */
  configTried(e: { by: 'signal' | 'operator'; result: string; detail: string | null }): void;
  /** The admin server was asked for something with a wrong bearer, or without one that it needs. */
  bearerRefused(e: { why: BearerFault }): void;
  /** Something was turned away, or not tried, for want of room in this process. */
  ranShort(e: { of: Shortage }): void;
  /** A bug of ours that was contained: its stack goes to the log at level debug only. */
  faulted(e: { where: string; error: unknown }): void;
}
