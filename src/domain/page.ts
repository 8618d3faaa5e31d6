/** Lists that are read in pages. */

/** A page has at most so many rows. */
export const pageRowsMax = 500;
/** A page has so many rows where nobody said how many. */
export const pageRowsUsual = 100;

/**
 * Asks for at most `limit` (1 to `pageRowsMax`) rows behind the place that `after` names; null:
 * from the beginning. Behind an `after` that no page gave there is nothing. Pages with long texts
 * hold fewer rows.
 */
export type PageAsked = { readonly after: string | null; readonly limit: number };
export type Page<T> = { readonly rows: readonly T[]; readonly next: string | null };

/**
 * Whether a text has the form of what a page gives as its `next`: base64url (RFC 4648, section 5)
 * of a JSON array. Only the list that gave it knows what it means.
 */
export function isPlace(text: string): boolean {
  try {
    const place: unknown = JSON.parse(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
    return Array.isArray(place);
  } catch {
    return false;
  }
}
