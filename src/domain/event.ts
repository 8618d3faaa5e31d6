/** The events of the service: one interface that every room reports to. */
import type { Verdict, GivenApproval } from './approval.ts';
import type { ApprovalId, ChannelKey, MessageId, ModelName, ReplyId } from './ids.ts';
import type { Abandoned, Decision } from './decision.ts';
import type { Failure, FailureKind } from './failure.ts';
import type { Shortage } from './remedy.ts';
import type { TurnedAwayReason } from './gate.ts';
import type { Sender } from './message.ts';
import type { BudgetLimit, Price, SpendLimit, Used } from './spend.ts';
import type { GrantMode, ToolOutcome } from './tool-use.ts';
import type { Unread } from './attachment.ts';

export type Box = 'in' | 'out';

/** A channel's state. `failed` lasts until a person acts; svc retries a `degraded` channel. */
export type ChannelState = 'starting' | 'up' | 'degraded' | 'failed' | 'stopped';

export type BearerFault = 'missing' | 'wrong';

/** The result of a probe. `reached`: the provider answers, but does not list its models. */
export type ModelProbeResult = 'there' | 'reached' | FailureKind;

/**
 * The one hub for events. Each room reports by calling one method here. The log line, the metric
 * and the live event come from that call (src/telemetry/events.ts). Methods return at once and
 * never throw.
 */
export interface Events {
  messageAccepted(e: { channel: ChannelKey; id: MessageId; duplicate: boolean }): void;
  messageRefused(e: { channel: ChannelKey; code: string }): void;
  /**
   * The gate of a messenger turned the message away. It is handled, and gets no row in the ledger.
   */
  messageTurnedAway(e: { channel: ChannelKey; reason: TurnedAwayReason }): void;
  /**
   * The channel confirmed `count` updates to the platform before they were safe, so that others
   * could come.
   */
  confirmedEarly(e: { channel: ChannelKey; count: number }): void;
  turnStarted(e: { channel: ChannelKey; id: MessageId; brain: string; waitedMs: number }): void;
  /**
   * Neither the log line nor the live event names the sender. This holds for the methods below too.
   */
  turnFinished(e: {
    channel: ChannelKey;
    id: MessageId;
    sender: Sender;
    brain: string;
    decision: Decision | Abandoned;
    ms: number;
  }): void;
  /** svc did not read an attachment. The event has no content and no id of it. */
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
  /** An operator answered the message, with its own reply or with the reply to a later message. */
  answeredByOperator(e: { channel: ChannelKey; id: MessageId; brain: string; ms: number }): void;
  /**
   * An agent's model asked for a call, whatever its outcome. The event does not have the arguments.
   */
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
  /** A call waits for an approval. Neither this event nor the next has arguments or a person. */
  approvalAsked(e: { channel: ChannelKey; id: MessageId; brain: string; tool: string }): void;
  /** `id`: the approval; `by` null: its time was over. */
  approvalDecided(e: {
    channel: ChannelKey;
    id: ApprovalId;
    brain: string;
    tool: string;
    verdict: Verdict;
    by: GivenApproval['by'] | null;
    /** How long the call waited. */
    waitedMs: number;
  }): void;
  /**
   * The number of calls that wait for an approval now. `oldestAt`: when svc asked for the oldest,
   * milliseconds since 1970; null: none waits.
   */
  approvalsWait(count: number, oldestAt: number | null): void;
  /** A call of the model begins. `modelAnswered` reports its end, however it ends. */
  modelAsked(e: { model: ModelName; provider: string }): void;
  /** `brain`: the brain that asked; absent: no brain did. */
  modelAnswered(e: {
    brain?: string | undefined;
    model: ModelName;
    provider: string;
    result: 'answer' | FailureKind;
    ms: number;
    /** The provider's words about the failure, scrubbed; absent: none. */
    said?: string;
    /** The HTTP status of the failure; absent: there was no answer. */
    status?: number;
    /** The provider cut the answer at a limit of its length; absent: the answer is whole. */
    isCut?: true;
    /** The share of the last prompt that this prompt begins with, 0 to 1; absent: unknown. */
    reuse?: number;
    /** From the beginning to the first word that may be shown; absent: nothing was streamed. */
    firstWordMs?: number;
  }): void;
  /** A reply that grows in the chat has its first word. `ms`: since the message was accepted. */
  firstWord(e: { channel: ChannelKey; ms: number }): void;
  /**
   * The tokens that one call to a provider used, whatever its purpose and however it ended.
   * `price`: at the time of the call; null: the model has none.
   */
  modelSpent(e: { brain: string; model: ModelName; used: Used; price: Price | null }): void;
  /** A call was not made, since it did not fit this limit of the brain's budget. */
  budgetRefused(e: { brain: string; limit: BudgetLimit }): void;
  /**
   * A day's limit is nearly used, or a call did not fit it (`used_up`), though some of it may be
   * left. The event does not name a sender.
   */
  budgetReached(e: {
    brain: string;
    limit: SpendLimit['kind'];
    /** The amount that the limit allowed. */
    most: SpendLimit['most'];
    state: 'nearly_used' | 'used_up';
    /** The service's local day, `YYYY-MM-DD`. */
    day: string;
  }): void;
  /**
   * A probe without any content: whether the model is there. A probe is no call, and no metric
   * counts it as one.
   */
  modelLooked(e: { model: ModelName; provider: string; found: ModelProbeResult }): void;
  /** `message`: the id of the message that the reply answers. */
  replyDelivered(e: {
    channel: ChannelKey;
    id: ReplyId;
    message: MessageId;
    attempt: number;
    totalMs: number;
  }): void;
  /**
   * An attempt at a delivery begins. Only this method is called before the ledger has written the
   * fact.
   */
  deliveryBegan(channel: ChannelKey): void;
  /**
   * The attempt is over, however it ended. The result for the reply follows once the ledger has it.
   */
  deliveryEnded(channel: ChannelKey): void;
  deliveryFailed(e: {
    channel: ChannelKey;
    id: ReplyId;
    message: MessageId;
    attempt: number;
    failure: Failure;
    /** The time of the next attempt, milliseconds since 1970; null: never, and `buried` follows. */
    nextAt: number | null;
  }): void;
  /** A dead letter. No other method counts one. */
  buried(e: { box: Box; channel: ChannelKey; id: string; failure: Failure }): void;
  channelChanged(e: { channel: string; state: ChannelState; reason: string | null }): void;
  /** `models`: all models that the brains of the configuration may ask. */
  configUsed(e: {
    revision: string;
    channels: number;
    brains: number;
    models: readonly { readonly name: ModelName; readonly provider: string }[];
  }): void;
  /** A fact that an operator should know and may act on. `code` is stable. */
  warned(e: { code: string; message: string; path?: string }): void;
  /** A milestone of the process: listening, draining, drained. */
  noticed(e: { code: string; message: string; details?: Record<string, unknown> }): void;
  /**
   * An operator used a write of the admin API, whatever the result. `target` holds the ids that the
   * write was about, never text. `status` is the HTTP status of the answer.
   */
  operatorWrote(e: {
    action: string;
    target: Readonly<Record<string, string>>;
    status: number;
  }): void;
  /**
   * A signal or the admin API asked to use a new configuration while svc runs. `result` is
   * `applied` or the code of the refusal; `detail` explains the refusal.
   */
  configTried(e: { by: 'signal' | 'operator'; result: string; detail: string | null }): void;
  /** The admin server got a request with a wrong bearer token, or without one that it needs. */
  bearerRefused(e: { why: BearerFault }): void;
  /** svc refused something, or did not try it, because this process had no room for it. */
  ranShort(e: { of: Shortage }): void;
  /** svc contained one of its own bugs. The stack goes to the log at level debug only. */
  faulted(e: { where: string; error: unknown }): void;
}
