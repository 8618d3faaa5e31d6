/**
 * The instances that work on one ledger, as the admin room sees them. Each tells a report of itself
 * about once a second; whichever is asked answers for all, by what the others told last.
 */

/** How many milliseconds without a report make an instance late. */
export const lateMs = 5_000;

/** It is called at any time, never rejects, and answers soon, whatever the others do. */
export interface InstancesPort {
  /** This one's number. */
  readonly own: number;
  /** Where this one is found. */
  place(): Place;
  seen(): Promise<Seen>;
}

export type Place = {
  /** The machine's name. */
  readonly host: string;
  /** Of the admin server, `host:port`; null: there is none. */
  readonly admin: string | null;
};

export type Seen = {
  /** In the order of their starts, this one too; empty: it works alone, and nobody is counted. */
  readonly living: readonly LivingInstance[];
  /** All unsettled rows, whoever has them in hand, or nobody; null: they could not be counted. */
  readonly rows: readonly KeptRows[] | null;
  /** For how many milliseconds `rows` has been so. */
  readonly rowsAgeMs: number;
};

export type LivingInstance = {
  readonly id: number;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly beganAt: number;
  /** What it alone may do now, by the names of the posts. */
  readonly posts: readonly string[];
  /** Its last report, and how old that is; null: there is none yet. */
  readonly told: { readonly ageMs: number; readonly report: string } | null;
};

export type KeptRows = {
  /** Of the channel. */
  readonly key: string;
  readonly inbox: number;
  readonly outbox: number;
  /** When the first of them was accepted or made, milliseconds since 1970. */
  readonly oldestAt: number;
  /** When the first reply of them was made; null: there is none. */
  readonly oldestReplyAt: number | null;
};
