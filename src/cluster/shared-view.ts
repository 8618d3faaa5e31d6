/**
 * What the instances on one ledger tell each other so that any of them can answer people for all:
 * how they are, and live frames. It is kept beside the ledger, and none of it is needed: a report
 * that is lost is told again a second later, and a frame is only for who looks just then.
 *
 * It has a connection of its own, which comes about when it is first used, so that no message waits
 * for it. Where the server cannot be reached a call rejects within seconds; none is tried again.
 */
export interface SharedView extends AsyncDisposable {
  /**
   * Keeps the report of an instance in the place of the one before; of a dead one nothing is kept.
   * @param report JSON
   */
  publish(instance: number, report: string): Promise<void>;
  look(): Promise<Looked>;
  /** Tells a lot of frames. */
  tell(liveEventBatch: LiveEventBatch): Promise<void>;
  /** The number of the newest lot of each instance, of those that told one lately. */
  newest(): Promise<ReadonlyMap<number, number>>;
  /**
   * The lots that came since, of each instance in their order; not all, where there are many.
   * @param after the instances to hear, each with the number of the last lot that is known
   */
  hear(after: ReadonlyMap<number, number>): Promise<readonly LiveEventBatch[]>;
  /** Deletes what instances told that are dead, and lots that are older than half a minute. */
  sweep(): Promise<void>;
}

export type Looked = {
  readonly reports: readonly InstanceReport[];
  /** Unsettled rows, whoever has them in hand; of very many at least so many. */
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
  /** When the first of them was accepted or made, milliseconds since 1970. */
  readonly oldestAt: number;
  /** When the first reply of them was made; null: there is none. */
  readonly oldestReplyAt: number | null;
};

/** Frames of a quarter of a second. `n` counts the lots of an instance, from 1. */
export type LiveEventBatch = {
  readonly instance: number;
  readonly n: number;
  /** How many frames were not told, since there were too many. */
  readonly leftOut: number;
  /** A JSON array. */
  readonly frames: string;
};
