/**
 * The port to the instances that work on one ledger. Each publishes a report about once a second.
 * Any of them answers for all, by the last reports.
 */

/** How many milliseconds without a report make an instance late. */
export const lateMs = 5_000;

/** May be called at any time, never rejects, and answers soon even if other instances hang. */
export interface InstancesPort {
  /** The number of this instance. */
  readonly own: number;
  /** Where this instance is. */
  place(): Place;
  reports(): Promise<LastReports>;
}

export type Place = {
  /** The machine's name. */
  readonly host: string;
  /** The `host:port` of the admin server; null: there is none. */
  readonly admin: string | null;
};

export type LastReports = {
  /** All living instances in the order of their starts. Empty: this one works alone. */
  readonly living: readonly LivingInstance[];
  /** All unsettled rows, whichever instance has them; null: they could not be counted. */
  readonly rows: readonly KeptRows[] | null;
  /** The age of `rows` in milliseconds. */
  readonly rowsAgeMs: number;
};

export type LivingInstance = {
  readonly id: number;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly beganAt: number;
  /** The names of the leases that it holds now. */
  readonly posts: readonly string[];
  /** Its last report, and the report's age; null: there is none yet. */
  readonly lastReport: { readonly ageMs: number; readonly report: string } | null;
};

export type KeptRows = {
  /** The key of the channel. */
  readonly key: string;
  readonly inbox: number;
  readonly outbox: number;
  /** When the first row was accepted or made, in milliseconds since 1970. */
  readonly oldestAt: number;
  /** When the first reply was made; null: there is none. */
  readonly oldestReplyAt: number | null;
};
