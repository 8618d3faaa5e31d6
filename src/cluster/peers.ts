/**
 * The port to the other instances on one ledger, as one instance sees them. It has leases for work
 * that only one instance may do, broadcasts between the instances, and the number of instances that
 * share a limit.
 *
 * A backend that only one process uses has `alone.ts`.
 */
/** The lease of the instance that does the upkeep of the database. Other releases know its name. */
export const janitorLease = 'keeper';

export interface Peers {
  /**
   * This instance's number. Each start has a new, higher number; 0 where there is only one
   * instance.
   */
  readonly id: number;
  /** The live instances in the order of their starts, this one too, as of the last heartbeat. */
  instances(): readonly Instance[];
  /**
   * Runs `run` once this instance has that lease. No other instance runs it at the same time. A
   * caller that asks for one lease twice within an instance keeps the two in order itself. `stop`
   * aborts when the instance must give up the lease, at the latest with `until`. The lease is free
   * for other instances when `run` has ended.
   * @param until aborts when this instance no longer wants the lease
   * @returns resolves or rejects as `run` ended; resolves when `until` aborted before it had the
   *   lease
   */
  withLease(
    lease: string,
    run: (stop: AbortSignal) => Promise<void>,
    until: AbortSignal,
  ): Promise<void>;
  /** Whether this instance has that lease now. */
  holds(lease: string): boolean;
  /**
   * Broadcasts to every instance. Resolves when every live instance has heard it, this one too.
   * Never rejects.
   *
   * Another instance may run the previous or the next release. One that does not know a kind counts
   * as having heard it. So the body of a kind may only gain fields. Another shape or another
   * meaning needs a new kind. An instance broadcasts that kind only once all live instances can
   * know it.
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
  /** How many instances share a limit now: a whole number, at least 1. */
  limitShare(): number;
  /** Calls `listener` after each heartbeat that changed `instances` or `share`. @returns ends it */
  onChange(listener: () => void): () => void;
}

export type Instance = {
  readonly id: number;
  readonly version: string;
  /** Milliseconds since 1970, by the server's clock. */
  readonly beganAt: number;
  /** The leases that it has, in the order of their names. */
  readonly posts: readonly string[];
};
