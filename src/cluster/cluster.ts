/**
 * The port of a process to the cluster that it belongs to: all processes of svc on one database.
 * For memory and SQLite the cluster is this process alone (alone.ts). Its callers do not know the
 * difference.
 */
import type {
  ConfigAsked,
  ConfigRefused,
  ConfigStore,
  OpenedConfig,
} from '../config/config-control.ts';
import type { Events } from '../domain/event.ts';
import type { LiveEvent } from '../domain/live-event.ts';
import type { LiveEvents } from '../telemetry/live-events.ts';

export interface Cluster extends Coordination, AsyncDisposable {
  /**
   * This process starts with that text. The text becomes the configuration of the cluster if it has
   * none. Call this before `openConfigStore`.
   * @returns `moved`: another configuration is in use
   */
  beginConfig(text: string): Promise<{ readonly kind: 'begun' | 'moved' } | ClusterFailed>;
  /**
   * The store of the configuration in use.
   * @param inFile opens the store of a process that has its configuration in its own file
   */
  openConfigStore(local: LocalConfig, inFile: () => ConfigStore): ConfigStore;
  /**
   * For a command that has the database to itself: that text is the configuration from now on.
   * @returns the revision before; empty: there was none
   */
  replaceConfig(
    text: string,
  ): Promise<{ readonly kind: 'replaced'; readonly before: string } | ClusterFailed>;
  /** The view of the cluster's state, for people. Open it once. */
  openView(source: ViewSource): StatusView & Disposable;
}

/** Work that only one process may do, broadcasts, and shares of limits. */
export interface Coordination {
  /**
   * Runs `run` once this process has that lease. No other process runs it at the same time. A
   * caller that asks twice for one lease must keep the two runs apart itself.
   *
   * `stop` aborts when the process must give up the lease, at the latest with `until`. The lease is
   * free for other processes when `run` has ended.
   * @param until aborts when this process no longer wants the lease
   * @returns resolves or rejects as `run` ended; resolves when `until` aborted before it had the
   *   lease
   */
  withLease(
    lease: string,
    run: (stop: AbortSignal) => Promise<void>,
    until: AbortSignal,
  ): Promise<void>;
  /** Whether this process has that lease now. */
  holds(lease: string): boolean;
  /**
   * Broadcasts to every process. Resolves when every live one has heard it, this one too. Never
   * rejects.
   *
   * Another process may run the previous or the next release. One that does not know a kind counts
   * as having heard it. The body of a kind may only gain fields: another shape or meaning needs a
   * new kind. A process broadcasts the new kind only once all can know it.
   */
  broadcast(kind: string, body: string): Promise<void>;
  /**
   * Calls `listener` with each broadcast of that kind from now on.
   * @param listener may take its time, and must not fail. It reads the body as untrusted input and
   *   ignores fields that it does not know. A body that it cannot read counts as heard, because a
   *   sender that waits for it would wait for ever
   * @returns ends the subscription
   */
  onBroadcast(kind: string, listener: (body: string) => void | Promise<void>): () => void;
  /** How many processes share a limit now: a whole number, at least 1. */
  limitShare(): number;
  /** Calls `listener` when `limitShare` or a holder of a lease has changed. @returns ends it */
  onChange(listener: () => void): () => void;
}

/** The lease of the upkeep of the database. Other releases know its name. */
export const janitorLease = 'keeper';

/** A configuration as the database has it. */
export type ConfigInDatabase = {
  readonly revision: string;
  readonly text: string;
  /** When it came into use by the server's clock, milliseconds since 1970. */
  readonly at: number;
};

/** `message` is a sentence. */
export type ClusterFailed = { readonly kind: 'failed'; readonly message: string };

/** The side of this process, when the cluster agrees on a configuration. */
export interface LocalConfig {
  /** The revision in use here. */
  used(): string;
  /** Checks a text as this process would run it, and changes nothing. */
  prepare(asked: LocalAsked): Promise<PreparedConfig | ConfigRefused>;
  /** Waits until no other turn runs. No other turn begins before this one has ended. */
  inTurn<T>(act: () => Promise<T>): Promise<T>;
  /** Once aborted, no new configuration comes into use. */
  readonly stop: AbortSignal;
  readonly events: Pick<Events, 'warned' | 'noticed' | 'faulted'>;
  /**
   * Called when this process cannot use the configuration in use, and must end.
   * @param why a sentence
   */
  readonly onBehind: (why: string) => void;
}

export type LocalAsked =
  /** A person asks this process, by the API or by the file of this machine. */
  | ({ readonly by: 'operator' } & Pick<ConfigAsked, 'text' | 'mayAskWith'>)
  | { readonly by: 'signal' }
  /** Another process proposes the text, or uses it already. */
  | { readonly by: 'cluster'; readonly text: string };

export type PreparedConfig = {
  readonly kind: 'prepared';
  readonly text: string;
  readonly revision: string;
  /**
   * Opens it beside the one in use. No other can open until this one is used or dropped.
   */
  open(): Promise<OpenedConfig | ConfigRefused>;
};

export type ViewSource = {
  /** The current report of this process, as JSON. */
  readonly report: () => string;
  readonly liveEvents: LiveEvents;
  /** @returns null: an event of a kind that only a newer svc knows */
  readonly liveEventOf: (received: unknown) => LiveEvent | null;
  readonly events: Pick<Events, 'warned'>;
};

export interface StatusView {
  /**
   * The last reports of all processes, for one answer. May be called at any time, never rejects,
   * and answers soon even if other processes hang.
   * @param own returns the current report of this process. It is called after all waiting, so that
   *   the report is as new as the rest of the answer
   * @param parse reads a report; null: it is of a release that this one cannot read
   */
  read<R extends ServiceReport>(
    own: () => R,
    parse: (json: string) => R | null,
  ): Promise<Reports<R>>;
}

/** What the cluster reads of a report. */
export type ServiceReport = {
  readonly health: { readonly status: 'ok' | 'failing' | 'stopping' };
};

/** All reports for one answer. */
export type Reports<Report> = {
  /** The current report of the asked process. */
  readonly own: ReportOf<Report>;
  /** In the order of their starts; empty: this one works alone. */
  readonly members: readonly Member<Report>[];
  /** The reports of all members, including this one's. */
  readonly reports: readonly ReportOf<Report>[];
  /**
   * The reports that decide states: of the members that are neither late nor stopping. Without any,
   * the asked one's.
   */
  readonly deciding: readonly ReportOf<Report>[];
  /** All unsettled rows; null: each report has its own. */
  readonly rows: readonly RowsOfChannel[] | null;
  /** The time of the oldest report here, in milliseconds since 1970; null: this one works alone. */
  readonly asOf: number | null;
};

/** A report and the number of its process; `id` null: it works alone. */
type ReportOf<Report> = { readonly id: number | null; readonly report: Report };

export type Member<Report> = {
  readonly id: number;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly beganAt: number;
  /** The names of the leases that it holds now. */
  readonly posts: readonly string[];
  readonly state: 'starting' | 'up' | 'failing' | 'stopping' | 'late';
  /** null: there is no report yet, or this release cannot read it. */
  readonly report: Report | null;
  /** The time of the report in milliseconds since 1970; null: there is none yet. */
  readonly toldAt: number | null;
};

export type RowsOfChannel = {
  readonly key: string;
  readonly inbox: number;
  readonly outbox: number;
  /** When the oldest of these rows was accepted or made, milliseconds since 1970. */
  readonly oldestAt: number;
  /** When the oldest of these replies was made; null: there is none. */
  readonly oldestReplyAt: number | null;
};
