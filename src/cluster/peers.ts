/**
 * The instances that work on one ledger, seen by one of them: who does what only one of them may
 * do, what they tell each other, and how they share what is bounded for all of them together.
 *
 * A form of the ledger that one process works on alone has `alone.ts`.
 */
export interface Peers {
  /** This instance's number. Every start has a new one, which is higher; 0 where it is alone. */
  readonly id: number;
  /** The living ones in the order of their starts, this one too, as of the last beat. */
  instances(): readonly Instance[];
  /**
   * Runs `run` once this instance has that post. No other instance runs it at the same time; who
   * asks for one post twice within an instance sees to the order. `stop` aborts when the post is to
   * be let go, at the latest with `until`; the post is free for others when `run` has ended.
   * @param until aborts when this instance no longer wants the post
   * @returns resolves, or rejects, as `run` ended; also when `until` aborted before it had the post
   */
  hold(lease: string, run: (stop: AbortSignal) => Promise<void>, until: AbortSignal): Promise<void>;
  /** Whether this instance has that post now. */
  holds(lease: string): boolean;
  /**
   * Resolves when every living instance has heard it, this one too. Never rejects.
   *
   * An instance may be of the release before, or the one after. One that does not know a kind has
   * heard it. So what a kind says may get more fields, and never others: another shape, or another
   * sense, is another kind, which an instance tells once all that live can know it.
   */
  tell(kind: string, body: string): Promise<void>;
  /**
   * Hears what is told of that kind from now on.
   * @param heard may take its time, and fails in no way. It reads the body as what comes from
   *   outside: fields that it does not know are left out, and what cannot be read at all is heard
   *   like anything else, since one that waits for it would wait for ever
   * @returns how to hear no more
   */
  on(kind: string, heard: (body: string) => void | Promise<void>): () => void;
  /** How many instances share a bound now: a whole number, at least 1. */
  share(): number;
  /** Calls `changed` after each beat by which `instances` or `share` changed. @returns its end */
  onChange(changed: () => void): () => void;
}

export type Instance = {
  readonly id: number;
  readonly version: string;
  /** Milliseconds since 1970, by the server's clock. */
  readonly beganAt: number;
  /** The posts that it has, in the order of their names. */
  readonly posts: readonly string[];
};
