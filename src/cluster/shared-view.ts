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
   * The batches since then, in order for each instance; where there are many, not all of them.
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

export type RowsOfChannel = {
  readonly key: string;
  readonly inbox: number;
  readonly outbox: number;
  /** When the oldest of these rows was accepted or made, milliseconds since 1970. */
  readonly oldestAt: number;
  /** When the oldest of these replies was made; null: there is none. */
  readonly oldestReplyAt: number | null;
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
