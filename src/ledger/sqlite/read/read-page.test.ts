import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from './read-page.ts';

/** Rows from 1 on. The first takes longer to read than a page may. */
function* slowRows(count: number): Generator<number> {
  const endAt = performance.now() + 60;
  while (performance.now() < endAt);
  for (let row = 1; row <= count; row++) yield row;
}

const readRows = (count: number, limit: number, matches: (row: number) => boolean) =>
  readPage(slowRows(count), limit, matches, (row) => [row, 0]);

test('a page of few rows is whole, however long they take', () => {
  assert.deepEqual(
    readRows(5, 9, () => true),
    { rows: [1, 2, 3, 4, 5], next: null },
  );
  const longest = readRows(600, 500, () => true);
  assert.deepEqual([longest.rows.length, longest.next], [500, [500, 0]]);
});

test('of many rows those are left for the next page that would take too long', () => {
  const { rows, next } = readRows(9_000, 9, (row) => row === 7 || row === 8_000);
  assert.deepEqual([rows, next], [[7], [501, 0]]);
});
