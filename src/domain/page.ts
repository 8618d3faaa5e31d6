/** Lists in pages. */

/** The most rows of a page. */
export const pageRowsMax = 500;
/** The rows of a page if the caller names no number. */
export const pageRowsUsual = 100;

/**
 * Asks for at most `limit` (1 to `pageRowsMax`) rows after the place `after`; null: from the
 * beginning. A place that no page returned has no rows after it. Pages with long texts hold fewer
 * rows.
 */
export type PageRequest = { readonly after: string | null; readonly limit: number };
export type Page<T> = { readonly rows: readonly T[]; readonly next: string | null };

/**
 * Whether a text has the form of a page's `next`: base64url (RFC 4648, section 5) of a JSON array.
 * Only the list that made it understands it.
 */
export function isPlace(text: string): boolean {
  try {
    const place: unknown = JSON.parse(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
    return Array.isArray(place);
  } catch {
    return false;
  }
}
