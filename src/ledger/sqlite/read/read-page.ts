/**
 * Lists that are found by looking: what an index cannot tell is looked at row by row, for a limited
 * time. The page ends there, and the next one goes on from the last row looked at.
 */
import type { PageKey } from '../../pages.ts';

/** A page looks at so many rows at most. */
export const looksMax = 10_000;
/** Rows with long texts take longer to look at; a page ends after this all the same, */
const looksMs = 50;
/** but not before so many rows: what an index finds is whole, however busy the machine is. */
const looksAlways = 500;

export type PageFound<Row> = {
  readonly rows: readonly Row[];
  /** Where the next page begins; null: there was nothing more to look at. */
  readonly next: PageKey | null;
};

/** @param candidates in the order of the list; they are let go before this returns */
export function readPage<Row>(
  candidates: Iterable<Row>,
  limit: number,
  matches: (row: Row) => boolean,
  placeOf: (row: Row) => PageKey,
): PageFound<Row> {
  const rows: Row[] = [];
  const endAt = performance.now() + looksMs;
  let looked = 0;
  for (const row of candidates) {
    if (matches(row)) {
      if (rows.length === limit) return { rows, next: placeOf(rows.at(-1)!) };
      rows.push(row);
    }
    looked++;
    const tooLong = looked > looksAlways && performance.now() > endAt;
    if (looked >= looksMax || tooLong) return { rows, next: placeOf(row) };
  }
  return { rows, next: null };
}

/**
 * Several lists as one; the list whose next row `comes` first is read on.
 * @param lists each in the same order; they are let go when the merged one is
 */
export function* merge<Row>(
  lists: readonly Iterable<Row>[],
  comes: (a: Row, b: Row) => boolean,
): Generator<Row> {
  const open = lists.map((list) => list[Symbol.iterator]());
  const heads = open.map((list) => list.next());
  try {
    for (;;) {
      let first = -1;
      for (const [at, head] of heads.entries()) {
        if (head.done === true) continue;
        const best = heads[first];
        if (best?.done !== false || comes(head.value, best.value)) first = at;
      }
      const head = heads[first];
      if (head === undefined || head.done === true) return;
      yield head.value;
      heads[first] = open[first]!.next();
    }
  } finally {
    for (const list of open) list.return?.();
  }
}
