/**
 * The admin room: pages and answers about the service for its operator. It is never in a
 * message's way and imports no station; what it needs comes through these ports, which service.ts
 * and run.ts fill. Ports are called at any time, must be quick, and hand out no secret; what
 * people wrote, and who they are, comes from the reader alone.
 */
import type {
  AnsweringStatus,
  ModelCallsStatus,
  ProviderStatus,
  TimesStatus,
  ModelProbes,
} from './model-probes.ts';
import type { ApplicationLink } from './application.ts';
import type { ConfigControl } from './config-control.ts';
import type { ChannelType, Config, ConfigProblem } from '../config/config.ts';
import type { AuditRow } from '../domain/audit.ts';
import type { ChannelState, Events } from '../domain/event.ts';
import type { Admissions, TurnedAway } from '../domain/gate.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { McpStanding } from '../domain/tool-use.ts';
import type { ConversationKey } from '../domain/story.ts';
import type { FigureCounts } from '../telemetry/figures/counting.ts';
import type { LiveEventRing } from '../telemetry/live-events.ts';
import type { Meters } from '../telemetry/meters.ts';
import type { DecideResult } from '../pipeline/approvals/decide.ts';
import type { TakeoverResult, HandWritten } from '../pipeline/takeover/takeover.ts';
import type { DeliveryStatus } from './deliveries.ts';
import type { ChannelBacklog, Gauges, Ledger, LedgerReader } from '../ledger/ledger.ts';
import type { StorageBackend } from '../domain/remedy.ts';
import type { ConfigTrials } from './config-trials.ts';
import type { InstanceState } from './schemas/status.ts';
import type { InstancesPort } from './instances/instances.ts';
import type { SecretControl } from './secret-control.ts';

export type AdminPorts = {
  readonly version: string;
  /** When the process began its work, milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds since 1970. */
  now(): number;
  /** Failing: svc can accept or keep nothing any more. A channel that is down is not that. */
  health(): Health;
  plan(): PlanView;
  readonly meters: Meters;
  readonly frames: LiveEventRing;
  /** What was counted here in the minute of now, and is not kept yet. */
  readonly figures: Pick<FigureCounts, 'atHand' | 'unkept'>;
  gauges(): Gauges;
  backlog(): readonly ChannelBacklog[];
  /** Connections open on all listeners. */
  connections(): number;
  /** Model calls of now, by provider: under way, and held back by the model's limit. */
  modelLoads(): ReadonlyMap<string, { readonly inFlight: number; readonly waiting: number }>;
  /** The MCP servers of this instance's agents. */
  mcp(): readonly McpStanding[];
  /** All that work on the ledger; null: this one has it alone, whatever comes. */
  readonly instances: InstancesPort | null;
  readonly reader: LedgerReader;
  readonly byHand: TakeoverPort;
  readonly approvals: ApprovalPort;
  readonly writes: Pick<Ledger, 'replay' | 'discard' | 'forget' | 'clearNotes' | 'deferred'>;
  /** Keeps what an operator did, before the answer goes out; false: it could not be kept. */
  audit(row: AuditRow): Promise<boolean>;
  /** Whom the gates of messengers turned away here, newest first. */
  turnedAway(): readonly TurnedAway[];
  readonly pairings: Admissions;
  readonly control: ConfigControl;
  readonly trials: ConfigTrials;
  readonly models: ModelProbes;
  readonly secrets: SecretControl;
  /** null: svc runs by itself. */
  readonly application: ApplicationLink | null;
  readonly events: Pick<Events, 'faulted' | 'operatorWrote' | 'bearerRefused'>;
};

/** Conversations that an operator answers by hand. */
export type TakeoverPort = Pick<
  Ledger['byHand'],
  'hold' | 'giveBack' | 'of' | 'held' | 'waiting'
> & {
  answer(where: ConversationKey, written: HandWritten): Promise<TakeoverResult>;
};

/** Calls that wait for a yes, decided by an operator, by their ids alone. */
export type ApprovalPort = {
  decide(id: string, verdict: 'approved' | 'refused'): Promise<DecideResult>;
};

export type Health =
  | { readonly status: 'ok' }
  /** `isStopping`: it was told to end, or ends by itself; left out: it was not. */
  | { readonly status: 'failing'; readonly reason: string; readonly isStopping?: true };

/** The configuration in use. */
export type PlanView = {
  readonly revision: string;
  /** When it was taken into use, milliseconds since 1970. */
  readonly usedAt: number;
  readonly config: Config;
  /** Warnings of the check, and of what is wrong now. */
  readonly warnings: readonly WarningStatus[];
  readonly channels: readonly PlannedView[];
};

/**
 * `key` is the ledger's; null: the channel takes no part. `isHeld`: not another instance has its
 * connection, for which this one waits.
 */
export type PlannedView = ChannelView & {
  readonly key: ChannelKey | null;
  readonly isHeld: boolean;
};

export type ChannelView = {
  readonly type: ChannelType;
  readonly state: ChannelState;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly reason: string | null;
  /** When the platform was last heard of; null: not yet, or the channel has no such sign. */
  readonly lastSeenAt: number | null;
};

/**
 * What `/api/v1/status` answers. Times are milliseconds since 1970, lengths milliseconds. Where
 * several instances work on one ledger, it is of all of them (instances/whole.ts says by which
 * rules), but for `version`, `revision`, `plan`, `startedAt`, `uptimeMs`, `access`, `application`
 * and `brains`, which are of the one that was asked.
 */
export type Status = {
  readonly status: Health['status'];
  readonly reason: string | null;
  readonly version: string;
  readonly revision: string;
  readonly plan: { readonly usedAt: number };
  readonly startedAt: number;
  readonly uptimeMs: number;
  readonly storage: StorageBackend;
  readonly access: Access;
  /** There is an application around svc, see application.ts; null: svc is older than that. */
  readonly application: boolean | null;
  /** Messages accepted in the last 60 s. */
  readonly perMinute: number;
  /** What went which way in the last 60 s; null: svc is older than that. */
  readonly traffic: ThroughputStatus | null;
  readonly channels: readonly ChannelStatus[];
  readonly brains: readonly BrainStatus[];
  readonly providers: readonly ProviderStatus[];
  readonly models: readonly ModelCallsStatus[];
  /** Of each brain that gets messages; null: svc is older than that. */
  readonly answering: readonly AnsweringStatus[] | null;
  readonly backlog: readonly BacklogStatus[];
  /** Whether replies arrive, by channel; null: svc is older than that. */
  readonly deliveries: readonly DeliveryStatus[] | null;
  readonly counts: CountsStatus;
  /** Conversations that an operator answers by hand; null: svc is older than that. */
  readonly held: number | null;
  /** Calls that wait for a person's yes, of the whole ledger; null: svc is older than that. */
  readonly approvals: { readonly waiting: number } | null;
  readonly times: {
    readonly waited: TimesStatus;
    readonly turns: TimesStatus;
    readonly endToEnd: TimesStatus;
  };
  /** The first hundred warnings. */
  readonly warnings: readonly WarningSummary[];
  /** How many warnings there are beside these. */
  readonly warningsLeftOut: number;
  /** The number of the one that was asked; null: it works alone, or svc is older than that. */
  /** MCP servers of this instance; null: svc is older than that. */
  readonly mcp: readonly McpStanding[] | null;
  readonly instance: number | null;
  /** Of when the oldest of these numbers is; null: all are of now. */
  readonly asOf: number | null;
  /** In the order of their starts; empty: one works alone; null: svc is older than that. */
  readonly instances: readonly InstanceStatus[] | null;
};

/** A channel's messages that a brain is done with, and a brain's calls of a model. */
export type ThroughputStatus = {
  readonly answered: readonly {
    readonly channel: string;
    readonly brain: string;
    readonly perMinute: number;
  }[];
  readonly asked: readonly {
    readonly brain: string;
    readonly model: string;
    readonly perMinute: number;
  }[];
};

/** `name` is what people call it: a platform's name, or the chore's. */
export type PostStatus = { readonly post: string; readonly name: string };

/** One that works on the ledger. What it did not tell yet is null. */
export type InstanceStatus = {
  /** Every start has a new one, which is higher. */
  readonly id: number;
  readonly state: InstanceState;
  readonly reason: string | null;
  readonly version: string;
  readonly revision: string | null;
  readonly startedAt: number;
  readonly toldAt: number | null;
  /** The name of its machine. */
  readonly host: string | null;
  /** Where it listens; `of`: a channel's type, or `admin`. */
  readonly addresses: readonly { readonly of: string; readonly address: string }[];
  /** What it alone may do; `post`: the key of a messenger whose connection it has, or a chore. */
  readonly posts: readonly PostStatus[];
  readonly perMinute: number | null;
  readonly inHand: number | null;
  readonly waiting: number | null;
};

/** Whether there is any bearer with which one may write. */
export type Access = 'read_only' | 'operator';

/**
 * `brain` is null for a channel without a route: it is not started. `address` is where messages
 * are sent to it; null for one that fetches them itself. Without the bearer it lacks a path that
 * somebody chose: it may be meant as a secret. `addresses` are those of all instances, `instance`
 * is the one that has a messenger's connection, or stands worse than others; null where there is
 * none such.
 */
export type ChannelStatus = Omit<ChannelView, 'since' | 'state'> & {
  readonly state: ChannelState | 'unrouted';
  readonly since: number | null;
  readonly brain: string | null;
  readonly address: string | null;
  readonly instance: number | null;
  readonly addresses: readonly { readonly instance: number; readonly address: string }[] | null;
};

export type BrainStatus = {
  readonly name: string;
  readonly sensitivity: 'public' | 'private';
  readonly dispatch: 'fanout' | 'sequential';
  readonly policy: 'priority' | 'consensus';
  readonly models: readonly ModelStatus[];
};

/** `dropped`: the shield keeps this model from ever being asked. */
export type ModelStatus = {
  readonly name: string;
  readonly locality: 'local' | 'cloud';
  readonly state: 'asked' | 'dropped';
};

/**
 * Unsettled rows, those at work included; `unroutable` of them wait for a channel that is gone.
 * `oldestAt`: when the oldest was accepted (of a reply: made).
 */
export type BacklogStatus = {
  readonly channel: string;
  readonly inbox: number;
  readonly outbox: number;
  readonly unroutable: number;
  readonly oldestAt: number | null;
};

/** Counted since the start; only `waiting`, `inFlight` and `deadLettersKept` are of now. */
export type CountsStatus = {
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: number;
  readonly settled: number;
  readonly delivered: number;
  readonly deadLetters: number;
  readonly faults: number;
  readonly waiting: number;
  readonly inFlight: number;
  readonly deadLettersKept: number;
};

/** What `/api/v1/config/names` answers: names alone, so that a list can offer them. */
export type ConfigNames = {
  readonly revision: string;
  readonly usedAt: number;
  readonly channels: readonly ChannelType[];
  readonly brains: readonly string[];
  readonly routes: readonly { readonly channel: ChannelType; readonly brain: string }[];
  readonly storage: StorageBackend;
  readonly session: boolean;
  /** The variables that hold secrets, in the order of the configuration. */
  readonly secrets: readonly string[];
};

/** `running`: messages of the channel reach the brain. */
export type RouteStatus = {
  readonly channel: ChannelType;
  readonly brain: string;
  readonly running: boolean;
};

/** Without the bearer, what the code means: no path of this machine, and no piece of the file. */
export type WarningStatus = Pick<ConfigProblem, 'code' | 'path' | 'message' | 'remedy'>;

/** `instances`: the ones that have it; null: all do. */
export type WarningSummary = WarningStatus & { readonly instances: readonly number[] | null };
