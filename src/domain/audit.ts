/** What operators did: one row for each use of what changes something. */

/**
 * `target` holds the ids that it was about, by their names; `reason` is what the operator said of
 * it. Neither holds what people wrote. `status` is the HTTP status of the answer.
 */
export type AuditRow = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly action: string;
  readonly target: Readonly<Record<string, string>>;
  readonly status: number;
  readonly reason: string | null;
};

/** So long a row is kept where there is storage. */
export const auditDays = 365;
/** So many are kept where there is none. */
export const auditRowsMax = 1_000;
/** So long a reason may be. */
export const reasonCharactersMax = 200;
