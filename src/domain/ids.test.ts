import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { test } from 'node:test';
import { createIdSource, messageIdIn, type IdSource } from './ids.ts';

const sourceAt = (now: () => number): IdSource =>
  createIdSource(now, (bytes) => void randomFillSync(bytes));

test('ids of one process only grow, also when the clock goes backward', () => {
  let now = 1_000;
  const ids = sourceAt(() => now);
  const all = Array.from({ length: 1_000 }, (_, at) => {
    now += at % 3 === 0 ? 1 : at % 7 === 0 ? -5 : 0;
    return ids.message();
  });
  assert.deepEqual(all, all.toSorted());
  assert.equal(new Set(all).size, all.length);
});

test('ids come after the one that they start after, whatever the clock says', () => {
  const newest = sourceAt(() => 5_000).message();
  const behind = sourceAt(() => 1_000);
  behind.startAfter(newest);
  assert.ok(behind.message() > newest);
  const ahead = sourceAt(() => 9_000);
  const own = ahead.message();
  ahead.startAfter(newest);
  assert.ok(ahead.message() > own);
});

test('two that start after the same id, both with a clock behind it, give none twice', () => {
  const newest = sourceAt(() => 5_000).message();
  const all = [1, 2].flatMap(() => {
    const ids = sourceAt(() => 1_000);
    ids.startAfter(newest);
    return Array.from({ length: 1_000 }, () => ids.message());
  });
  assert.equal(new Set(all).size, all.length);
});

test('the id of an API answer is that of its message, and every other id is itself', () => {
  const id = sourceAt(() => 1_000).message();
  assert.deepEqual([messageIdIn(`chatcmpl-${id}`), messageIdIn(id)], [id, id]);
});
