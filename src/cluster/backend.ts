/**
 * What a database gives the processes of svc that work on it: membership with leases and broadcasts
 * (`Peers`), the votes on their configuration (`SharedConfigs`), and their reports and live events
 * (`SharedView`). Here, an instance is one such process.
 */
import type { ConfigInDatabase, Coordination, RowsOfChannel } from './cluster.ts';

/** Membership: leases, broadcasts and limits of the instances on one ledger, as one sees them. */
export interface Peers extends Coordination {
  /** This instance's number. Each start has a new, higher number. */
  readonly id: number;
  /** The live instances in the order of their starts, this one too, as of the last heartbeat. */
  instances(): readonly Instance[];
}

export type Instance = {
  readonly id: number;
  readonly version: string;
  /** Milliseconds since 1970, by the server's clock. */
  readonly beganAt: number;
  /** The leases that it has, in the order of their names. */
  readonly posts: readonly string[];
};

/**
 * The one configuration of all instances that work on one database: the current one, the former
 * ones, and how a new one takes its place.
 *
 * A proposal goes from open to used, refused or closed. At most one is open. Each instance that is
 * asked votes: it can use the text with its own secrets, or says why it cannot. An instance is
 * asked when it is alive and has reported its configuration (`begin`, `uses`). Any other instance
 * is still starting, and takes the current configuration then.
 *
 * The proposer decides. When all instances agreed, the configuration is the current one from that
 * moment on. When one refused, or did not answer within 10 s, the proposal is refused. If the
 * proposer does not decide, another instance closes it.
 *
 * Nothing here holds a secret. Every method may be called at any time, and rejects with
 * ConfigsFailed.
 */
export interface SharedConfigs {
  /** This instance's number. */
  readonly instance: number;
  /**
   * This instance starts with that text. It becomes the first configuration if there is none. If it
   * is the current one, this instance is asked for its vote from now on.
   * @returns the current configuration
   */
  begin(first: WrittenConfig): Promise<SharedConfig>;
  current(): Promise<SharedConfig>;
  /** @param proposal the proposal whose outcome the caller waits for; null: none */
  look(proposal: number | null): Promise<ConfigsSeen>;
  /**
   * This instance now uses that configuration, and is asked for its vote from now on.
   * @param n its number; null: this instance stops, and is not asked any more
   */
  uses(n: number | null): Promise<void>;
  /**
   * Proposes a configuration; this instance agrees to it in the same step. @param base the number
   * of the configuration that it follows
   */
  propose(base: number, written: WrittenConfig): Promise<Proposed>;
  /** @returns null: the database no longer has it */
  proposal(n: number): Promise<Proposal | null>;
  /** The first vote of an instance counts. @param refusal null: this instance can use it */
  vote(proposal: number, refusal: VoteRefusal | null): Promise<void>;
  /** Counts the votes. @returns `open`: some votes are missing */
  decide(proposal: number): Promise<Decided>;
  /** Closes the proposal unless it is decided. */
  close(proposal: number, why: ClosedWhy): Promise<void>;
  /**
   * For a command that has the database to itself: that text is the current configuration from now
   * on.
   * @returns the revision before; null: there was none
   */
  replace(written: WrittenConfig): Promise<string | null>;
  /**
   * The current configuration and those before it, newest first, each revision once, at most a
   * hundred.
   */
  history(): Promise<readonly KeptRow[]>;
  /** null: the database does not have it. */
  kept(revision: string): Promise<SharedConfig | null>;
}

/** `by`: who wanted it, for people: `operator`, `signal`, `start`, `command`. */
export type WrittenConfig = {
  readonly revision: string;
  readonly text: string;
  readonly by: string;
};

/** `n` grows with each configuration that comes into use. */
export type SharedConfig = ConfigInDatabase & { readonly n: number };

export type KeptRow = Omit<SharedConfig, 'text'> & { readonly bytes: number };

/** For people; `host` is empty where it is not known. */
export type NamedInstance = {
  readonly id: number;
  readonly host: string;
  readonly version: string;
};

export type ConfigsSeen = {
  /** The number of the current configuration. */
  readonly current: number;
  /** How long it has been in use, in milliseconds of the server's clock. */
  readonly ageMs: number;
  /** null: none is open. */
  readonly open: OpenProposal | null;
  /**
   * How the proposal that the caller asked about ended; null: it is open, or the caller asked about
   * none.
   */
  readonly end: ProposalEnd | null;
  /** Other live instances that still use an older configuration. */
  readonly behind: readonly NamedInstance[];
};

export type OpenProposal = {
  readonly n: number;
  readonly base: number;
  readonly by: NamedInstance;
  /** Its instance is dead, or has not decided for much too long. */
  readonly isOrphan: boolean;
};

export type Proposal = WrittenConfig & { readonly n: number };

export type Proposed =
  | { readonly kind: 'proposed'; readonly n: number }
  /** Another proposal is open. */
  | { readonly kind: 'busy' }
  /** Another configuration has become the current one. */
  | { readonly kind: 'moved' };

/** `code` names the refusal. `detail` says why, and what to do. It holds no value of a secret. */
export type VoteRefusal = { readonly code: string; readonly detail: string };

export type InstanceRefusal = VoteRefusal & { readonly instance: NamedInstance };

/**
 * `moved`: another configuration came into use. `late`: nobody decided. `withdrawn`: the proposer
 * gave it up.
 */
export type ClosedWhy = 'moved' | 'late' | 'withdrawn';

export type ProposalEnd =
  /** `n`: the number under which it is in use. */
  | { readonly kind: 'used'; readonly n: number }
  /** An instance that did not answer has the code `silent`. */
  | { readonly kind: 'refused'; readonly refusals: readonly InstanceRefusal[] }
  | { readonly kind: 'closed'; readonly why: ClosedWhy };

export type Decided =
  | ProposalEnd
  | { readonly kind: 'open'; readonly missing: readonly NamedInstance[] };

/**
 * `away`: the server did not answer, so it may or may not have done what the call asked for.
 * `dead`: this instance counts as dead, and changes nothing any more. `message` is a sentence.
 */
export class ConfigsFailed extends Error {
  override readonly name = 'ConfigsFailed';
  readonly reason: 'away' | 'dead' | 'closed';

  constructor(reason: ConfigsFailed['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * The data that the instances on one ledger share so that each can answer people for all of them: a
 * report of each instance's state, and live events. The database holds it beside the ledger, and no
 * message needs it. An instance replaces a lost report a second later. A live event is only for
 * people who watch at that moment.
 *
 * It has a connection of its own, made at first use, so that no message waits for it. While the
 * server is away, a call rejects within seconds; this port retries nothing.
 */
export interface SharedView extends AsyncDisposable {
  /**
   * Replaces the instance's report. The report of a dead instance is dropped.
   * @param report JSON
   */
  publish(instance: number, report: string): Promise<void>;
  readReports(): Promise<SharedSnapshot>;
  /** Publishes a batch of live events. */
  publishEvents(liveEventBatch: LiveEventBatch): Promise<void>;
  /** The number of the newest batch of each instance that published one lately. */
  newest(): Promise<ReadonlyMap<number, number>>;
  /**
   * The batches after those in `after`, in order for each instance. If there are many, not all.
   * @param after the instances to read, each with the number of the last batch that the caller
   *   knows
   */
  readBatches(after: ReadonlyMap<number, number>): Promise<readonly LiveEventBatch[]>;
  /** Deletes the data of dead instances, and batches older than half a minute. */
  sweep(): Promise<void>;
}

export type SharedSnapshot = {
  readonly reports: readonly InstanceReport[];
  /** Unsettled rows of all instances, by channel. Where there are very many, a lower bound. */
  readonly rows: readonly RowsOfChannel[];
};

export type InstanceReport = {
  readonly instance: number;
  /** By the server's clock, in milliseconds. */
  readonly ageMs: number;
  readonly report: string;
};

/** The live events of a quarter of a second. `n` counts the batches of an instance, from 1. */
export type LiveEventBatch = {
  readonly instance: number;
  readonly n: number;
  /** How many events were left out because there were too many. */
  readonly leftOut: number;
  /** A JSON array. */
  readonly frames: string;
};
