/** What operators did: one row for each use of a write. */

/**
 * `target` holds the ids that the write was about, by their names; `reason` is what the operator
 * said of it. Neither holds what people wrote. `status` is the HTTP status of the answer.
 */
export type AuditRow = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly action: string;
  readonly target: Readonly<Record<string, string>>;
  readonly status: number;
  readonly reason: string | null;
};

/** For so long a row is kept where there is storage. */
export const auditDays = 365;
/** At most so many rows are kept where there is no storage. */
export const auditRowsMax = 1_000;
/** A reason has at most so many characters. */
export const reasonCharactersMax = 200;
