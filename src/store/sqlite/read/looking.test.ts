import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookThrough, type Looked } from './looking.ts';

/** Every look takes so long. */
function lookAt(rows: readonly number[], msEach: number): Looked<number> {
  let at = 0;
  const now = (): number => (at += msEach);
  return lookThrough(
    rows,
    1_000,
    () => true,
    (row) => [row],
    now,
  );
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, row) => row);

test('a list of few rows is one page, however slow the machine is just now', () => {
  assert.deepEqual(lookAt(upTo(100), 60_000), { rows: upTo(100), next: null });
});

test('of many rows that are slow to look at a page ends in time, and none is lost', () => {
  const { rows, next } = lookAt(upTo(1_000), 1);
  assert.ok(rows.length < 200, `${rows.length}`);
  assert.deepEqual(rows, upTo(rows.length));
  assert.deepEqual(next, [rows.at(-1)]);
  assert.deepEqual(lookAt(upTo(1_000), 0), { rows: upTo(1_000), next: null });
});
