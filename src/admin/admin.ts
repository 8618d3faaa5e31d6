/**
 * The ports of the admin room, which shows pages and answers about the service to its operator. The
 * room is off the message path. Of the rooms with a contract (channels, brains, …) it imports only
 * those of the ledger and the cluster. service.ts and run.ts fill these ports. A port may be called
 * at any time, is quick, and returns no secret. Texts and people's ids come only from the reader.
 */
import type { RouteKey } from '../domain/routing.ts';
import type {
  AnsweringStatus,
  ModelCallsStatus,
  ProviderStatus,
  TimesStatus,
  ModelProbes,
} from './model-probes.ts';
import type { ApplicationLink } from './application.ts';
import type { ConfigControl } from '../config/config-control.ts';
import type { Config } from '../config/config.ts';
import type { RunningType } from '../channels/registry.ts';
import type { ConfigProblem } from '../config/problems.ts';
import type { AuditRow } from '../domain/audit.ts';
import type { ChannelState, Events } from '../domain/event.ts';
import type { Admissions, TurnedAway } from '../domain/gate.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { McpHealth } from '../domain/tool-use.ts';
import type { ConversationKey } from '../domain/story.ts';
import type { FigureCounts } from '../telemetry/figures/counting.ts';
import type { LiveEventRing } from '../telemetry/live-events.ts';
import type { Meters } from '../telemetry/meters.ts';
import type { DecideResult } from '../pipeline/approvals/decide.ts';
import type { TakeoverResult, OperatorReply } from '../pipeline/takeover/takeover.ts';
import type { DeliveryStatus } from './deliveries.ts';
import type { ChannelBacklog, Gauges, Ledger, LedgerReader } from '../ledger/ledger.ts';
import type { StatusView } from '../cluster/cluster.ts';
import type { StorageBackend } from '../domain/remedy.ts';
import type { ConfigTrials } from './config-trials.ts';
import type { InstanceState } from './schemas/status.ts';
import type { SecretControl } from './secret-control.ts';

export type AdminPorts = {
  readonly version: string;
  /** When the process started to work, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds since 1970. */
  now(): number;
  /** Failing: svc can no longer accept or store anything. A channel that is down does not count. */
  health(): Health;
  runningConfig(): RunningConfigView;
  readonly meters: Meters;
  readonly liveEvents: LiveEventRing;
  /** This process's counts that are not stored yet. */
  readonly figures: Pick<FigureCounts, 'atHand' | 'unkept'>;
  gauges(): Gauges;
  backlog(): readonly ChannelBacklog[];
  /** How many connections are open on all listeners. */
  connections(): number;
  /** Current model calls by provider: under way, and waiting for the model's limit. */
  modelLoads(): ReadonlyMap<string, { readonly inFlight: number; readonly waiting: number }>;
  /** The states of the MCP servers of this process's agents. */
  mcp(): readonly McpHealth[];
  /** The reports that the status is made of. */
  readonly view: StatusView;
  /**
   * Where this process is, for its report: the machine's name, and the `host:port` of the admin
   * server; null: there is none.
   */
  place(): { readonly host: string; readonly admin: string | null };
  readonly reader: LedgerReader;
  readonly takeovers: TakeoverPort;
  readonly approvals: ApprovalPort;
  readonly writes: Pick<Ledger, 'replay' | 'discard' | 'forget' | 'clearNotes' | 'deferred'>;
  /** Stores an operator's act before the answer goes out; false: it could not be stored. */
  audit(row: AuditRow): Promise<boolean>;
  /** Senders that the messengers' gates turned away at this process, newest first. */
  turnedAway(): readonly TurnedAway[];
  readonly pairings: Admissions;
  readonly control: ConfigControl;
  readonly trials: ConfigTrials;
  readonly models: ModelProbes;
  readonly secrets: SecretControl;
  /** null: no application runs around svc. */
  readonly application: ApplicationLink | null;
  readonly events: Pick<Events, 'faulted' | 'operatorWrote' | 'bearerRefused'>;
};

/** The port for takeovers: conversations that an operator answers. */
export type TakeoverPort = Pick<
  Ledger['takeovers'],
  'hold' | 'giveBack' | 'of' | 'held' | 'waiting'
> & {
  answer(where: ConversationKey, written: OperatorReply): Promise<TakeoverResult>;
};

/** The port for an operator's decisions on calls that wait for approval, by their ids alone. */
export type ApprovalPort = {
  decide(id: string, verdict: 'approved' | 'refused'): Promise<DecideResult>;
};

export type Health =
  | { readonly status: 'ok' }
  /** `isStopping`: svc ends, by request or by itself; left out: it does not. */
  | { readonly status: 'failing'; readonly reason: string; readonly isStopping?: true };

/** The configuration in use and its channels. */
export type RunningConfigView = {
  readonly revision: string;
  /** When it came into use, in milliseconds since 1970. */
  readonly usedAt: number;
  readonly config: Config;
  /** Warnings of the configuration check and of current problems. */
  readonly warnings: readonly WarningStatus[];
  readonly channels: readonly PlannedChannelView[];
};

/**
 * `key` is the ledger's key; null: the channel takes no part. `isHeld` false: another process has
 * the channel's connection, and this one waits for it.
 */
export type PlannedChannelView = ChannelView & {
  readonly key: ChannelKey | null;
  readonly isHeld: boolean;
};

export type ChannelView = {
  /** The name by which routes know it. */
  readonly name: string;
  readonly type: RunningType;
  readonly state: ChannelState;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly reason: string | null;
  /** When the platform last answered; null: not yet, or the channel has no such sign. */
  readonly lastSeenAt: number | null;
};

/**
 * The answer of `/api/v1/status`. Times are milliseconds since 1970, durations milliseconds. If
 * several instances share a ledger, it merges all of them by the rules in reports/merging.ts. Only
 * `version`, `revision`, `plan`, `startedAt`, `uptimeMs`, `access`, `application` and `brains` are
 * of the instance that answers.
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
  /**
   * Whether an application runs around svc, see application.ts; null: svc is older than the field.
   */
  readonly application: boolean | null;
  /** Messages accepted in the last 60 s. */
  readonly perMinute: number;
  /** Throughput of the last 60 s; null: svc is older than the field. */
  readonly traffic: ThroughputStatus | null;
  readonly channels: readonly ChannelStatus[];
  readonly brains: readonly BrainStatus[];
  readonly providers: readonly ProviderStatus[];
  readonly models: readonly ModelCallsStatus[];
  /** One for each brain that gets messages; null: svc is older than the field. */
  readonly answering: readonly AnsweringStatus[] | null;
  readonly backlog: readonly BacklogStatus[];
  /** Whether replies arrive, by channel; null: svc is older than the field. */
  readonly deliveries: readonly DeliveryStatus[] | null;
  readonly counts: CountsStatus;
  /** How many conversations an operator has taken over; null: svc is older than the field. */
  readonly held: number | null;
  /** How many calls on the whole ledger wait for approval; null: svc is older than the field. */
  readonly approvals: { readonly waiting: number } | null;
  readonly times: {
    readonly waited: TimesStatus;
    readonly turns: TimesStatus;
    readonly endToEnd: TimesStatus;
  };
  /** The first hundred warnings. */
  readonly warnings: readonly WarningSummary[];
  /** How many warnings follow after these. */
  readonly warningsLeftOut: number;
  /** MCP servers of this instance; null: svc is older than the field. */
  readonly mcp: readonly McpHealth[] | null;
  /** The number of the instance that answers; null: it works alone, or svc is older. */
  readonly instance: number | null;
  /** The time of the oldest number here; null: all are current. */
  readonly asOf: number | null;
  /** In the order of their starts; empty: one works alone; null: svc is older than the field. */
  readonly instances: readonly InstanceStatus[] | null;
};

/** Messages of a channel that a brain has finished, and a brain's calls of a model, per minute. */
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

/** `name` is for people: the platform's name, or the lease's own word. */
export type PostStatus = { readonly post: string; readonly name: string };

/** An instance that works on the ledger. A field that it did not report yet is null. */
export type InstanceStatus = {
  /** Every start gets a new, higher number. */
  readonly id: number;
  readonly state: InstanceState;
  readonly reason: string | null;
  readonly version: string;
  readonly revision: string | null;
  readonly startedAt: number;
  readonly toldAt: number | null;
  /** The name of the machine. */
  readonly host: string | null;
  /** Where the instance listens; `of`: a channel's name, or `admin`. */
  readonly addresses: readonly { readonly of: string; readonly address: string }[];
  /**
   * The leases that it holds; `post`: the key of a messenger that it is connected to, or a task's
   * name.
   */
  readonly posts: readonly PostStatus[];
  readonly perMinute: number | null;
  readonly inHand: number | null;
  readonly waiting: number | null;
};

/** Whether an operator can sign in at all, or the service is read-only. */
export type Access = 'read_only' | 'operator';

/**
 * `brain` is null for a channel without a route, which is not started; for `completions` it is the
 * names of all its brains, with commas between them. `address` is where senders
 * reach it; null for a channel that fetches its messages. Without the operator's token it lacks a
 * configured path, which may be meant as a secret. `addresses` are those of all instances.
 * `instance` holds a messenger's connection, or is in a worse state than the others; null: neither.
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

/** `dropped`: the privacy filter removes this model before any call. */
export type ModelStatus = {
  readonly name: string;
  readonly locality: 'local' | 'cloud';
  readonly state: 'asked' | 'dropped';
};

/**
 * Unsettled rows, including those under way; `unroutable` of them wait for a channel that is gone.
 * `oldestAt`: when the oldest message was accepted or the oldest reply was made.
 */
export type BacklogStatus = {
  readonly channel: string;
  readonly inbox: number;
  readonly outbox: number;
  readonly unroutable: number;
  readonly oldestAt: number | null;
};

/** Counts since the start; `waiting`, `inFlight` and `deadLettersKept` are current. */
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

/** The answer of `/api/v1/config/names`: only names, to fill lists with. */
export type ConfigNames = {
  readonly revision: string;
  readonly usedAt: number;
  readonly channels: readonly string[];
  readonly brains: readonly string[];
  readonly routes: readonly { readonly channel: string; readonly brain: string }[];
  readonly storage: StorageBackend;
  readonly session: boolean;
  /** The variables that hold secrets, in the order of the configuration. */
  readonly secrets: readonly string[];
};

/** `running`: messages of the channel reach the brain. */
export type RouteStatus = {
  readonly channel: string;
  readonly brain: string;
  readonly running: boolean;
  /**
   * The place of the route in the configuration, counted from 1; null: a brain of `completions`,
   * which needs no route, or svc is older.
   */
  readonly number: number | null;
  /** Its conditions; null: it takes every other message. */
  readonly when:
    | readonly {
        readonly key: RouteKey;
        /** null: ids and commands are for the operator. */
        readonly entries: readonly string[] | null;
      }[]
    | null;
};

/**
 * For a reader, the general meaning of the code, without paths of this machine or parts of the
 * file.
 */
export type WarningStatus = Pick<ConfigProblem, 'code' | 'path' | 'message' | 'remedy'>;

/** `instances`: the ones with this warning; null: all. */
export type WarningSummary = WarningStatus & { readonly instances: readonly number[] | null };
