/** Pages of lists: their length, and the opaque text that asks for the next page. */
import { pageRowsMax, type Page, type PageRequest } from '../domain/page.ts';
import type { DeadLetterReason } from '../domain/story.ts';

/** Characters of text on one page. The row that passes this limit is the last of its page. */
export const pageCharactersMax = 8 * 1024 * 1024;

/** The sort key of a row, as a list of values. */
export type PageKey = readonly (number | string)[];

/** The page length: a whole number from 1 to `pageRowsMax`, whatever was asked for. */
export function limitOf({ limit }: PageRequest): number {
  return Number.isNaN(limit) ? 1 : Math.min(pageRowsMax, Math.max(1, Math.trunc(limit)));
}

/**
 * The key behind which a page begins.
 * @param beginning the key before every row; it shows the number and types of the values
 * @returns null when no page of this list gave this `after`
 */
export function keyAfter<P extends PageKey>({ after }: PageRequest, beginning: P): P | null {
  if (after === null) return beginning;
  try {
    const place: unknown = JSON.parse(Buffer.from(after, 'base64url').toString());
    const fits =
      Array.isArray(place) &&
      place.length === beginning.length &&
      beginning.every((value, index) => typeof place[index] === typeof value);
    return fits ? (place as unknown as P) : null;
  } catch {
    return null;
  }
}

/**
 * Makes a page.
 * @param rows one row more than `limit` means that there is a next page
 */
export function pageOf<R, T>(
  rows: readonly R[],
  limit: number,
  placeOf: (row: R) => PageKey,
  toRow: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { rows: shown.map(toRow), next: more ? nextOf(placeOf(last)) : null };
}

/** The text that asks for the rows behind a key. */
export function nextOf(place: PageKey): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** The answer to an `after` that no page gave. */
export const emptyPage: Page<never> = { rows: [], next: null };

/** Sums the counts of equal reasons; most frequent first. */
export function countReasons(counted: readonly DeadLetterReason[]): readonly DeadLetterReason[] {
  const reasons = new Map<string, DeadLetterReason>();
  for (const { box, kind, whose, status, detail, count } of counted) {
    const key = JSON.stringify([box, kind, whose, status, detail]);
    const sum = count + (reasons.get(key)?.count ?? 0);
    reasons.set(key, { box, kind, whose, status, detail, count: sum });
  }
  return [...reasons.values()].sort((a, b) => b.count - a.count).slice(0, pageRowsMax);
}
