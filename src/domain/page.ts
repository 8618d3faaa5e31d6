/**
 * At most `limit` (1–500) rows behind the place that `after` names; null: from the beginning.
 * Behind an `after` that no page gave there is nothing. Pages with long texts hold fewer rows.
 */
export type PageAsked = { readonly after: string | null; readonly limit: number };
export type Page<T> = { readonly rows: readonly T[]; readonly next: string | null };
