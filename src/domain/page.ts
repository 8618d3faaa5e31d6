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

/**
 * Whether a text has the form of what a page gives as its `next`: base64url (RFC 4648, section 5)
 * of a JSON array. What it means the list knows that gave it.
 */
export function isPlace(text: string): boolean {
  try {
    const place: unknown = JSON.parse(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
    return Array.isArray(place);
  } catch {
    return false;
  }
}
