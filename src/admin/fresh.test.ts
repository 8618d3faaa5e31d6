import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fresh } from './figures.ts';

/** Counts the reads. */
function counting() {
  const fresh = new Fresh<string, number>();
  let reads = 0;
  const ask = (key: string, now: number): Promise<number> =>
    fresh.summary(key, 5_000, now, async () => ++reads);
  return { fresh, ask };
}

test('an answer is given again until it is too old, to each question its own', async () => {
  const { ask } = counting();
  assert.deepEqual([await ask('a', 0), await ask('a', 4_999), await ask('b', 4_999)], [1, 1, 2]);
  assert.deepEqual([await ask('a', 5_000), await ask('a', 0)], [3, 4]);
});

test('who asks while it is read waits for the same read', async () => {
  const { ask } = counting();
  assert.deepEqual(await Promise.all([ask('a', 0), ask('a', 0)]), [1, 1]);
});

test('a read that failed is no answer to who asks next', async () => {
  const { fresh, ask } = counting();
  const failed = fresh.summary('a', 5_000, 0, () => Promise.reject(new Error('locked')));
  await assert.rejects(failed, /locked/);
  assert.equal(await ask('a', 1), 1);
});

test('however many questions there are, the answers to the last sixteen are kept', async () => {
  const { ask } = counting();
  for (let at = 0; at < 17; at++) await ask(String(at), 0);
  assert.equal(await ask('1', 0), 2);
  assert.equal(await ask('0', 0), 18);
});
