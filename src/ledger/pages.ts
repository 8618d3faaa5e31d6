/** Pages of a list: how long they may be, and the opaque text that asks for the next one. */
import { pageRowsMax, type Page, type PageAsked } from '../domain/page.ts';
import type { DeadLetterReason } from '../domain/story.ts';

/** Characters of text on one page; the row that passes it is the page's last. */
export const pageCharactersMax = 8 * 1024 * 1024;

/** What orders a list: the values of one row, each in its place. */
export type PageKey = readonly (number | string)[];

/** A whole number from 1 to `pageRowsMax`, whatever was asked for. */
export function limitOf({ limit }: PageAsked): number {
  return Number.isNaN(limit) ? 1 : Math.min(pageRowsMax, Math.max(1, Math.trunc(limit)));
}

/**
 * Where a page begins.
 * @param beginning the place before every row; it shows how many values a place has, and which
 * @returns null when `after` is nothing that a page of this list gave
 */
export function keyAfter<P extends PageKey>({ after }: PageAsked, beginning: P): P | null {
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

/** @param rows up to one more than `limit`: then there is a next page */
export function pageOf<R, T>(
  rows: readonly R[],
  limit: number,
  placeOf: (row: R) => PageKey,
  tell: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { rows: shown.map(tell), next: more ? nextOf(placeOf(last)) : null };
}

/** What asks for the rows behind a place. */
export function nextOf(place: PageKey): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Behind a place that no page gave there is nothing. */
export const emptyPage: Page<never> = { rows: [], next: null };

/** Adds up what has the same reason; most frequent first. */
export function countReasons(counted: readonly DeadLetterReason[]): readonly DeadLetterReason[] {
  const reasons = new Map<string, DeadLetterReason>();
  for (const { box, kind, whose, status, detail, count } of counted) {
    const key = JSON.stringify([box, kind, whose, status, detail]);
    const sum = count + (reasons.get(key)?.count ?? 0);
    reasons.set(key, { box, kind, whose, status, detail, count: sum });
  }
  return [...reasons.values()].sort((a, b) => b.count - a.count).slice(0, pageRowsMax);
}
