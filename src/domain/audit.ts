/** The audit of operators: one row for each write over the admin API. */

/**
 * `target` holds the ids that the write was about, by their names. `reason` is the operator's own
 * explanation. Neither holds text of other people. `status` is the HTTP status of the answer.
 */
export type AuditRow = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly action: string;
  readonly target: Readonly<Record<string, string>>;
  readonly status: number;
  readonly reason: string | null;
};

/** Storage keeps a row for this many days. */
export const auditDays = 365;
/** Without storage, svc keeps at most this many rows. */
export const auditRowsMax = 1_000;
/** The limit for the length of a reason. */
export const reasonCharactersMax = 200;
