/** Lists that are read in pages. */

/** So many rows a page has at most. */
export const pageRowsMax = 500;
/** So many it has where nobody said how many. */
export const pageRowsUsual = 100;

/**
 * At most `limit` (1 to `pageRowsMax`) rows behind the place that `after` names; null: from the
 * beginning. Behind an `after` that no page gave there is nothing. Pages with long texts hold
 * fewer rows.
 */
export type PageAsked = { readonly after: string | null; readonly limit: number };
export type Page<T> = { readonly rows: readonly T[]; readonly next: string | null };
