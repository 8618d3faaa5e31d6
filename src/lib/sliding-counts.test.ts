import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SteadyTime } from './clock.ts';
import { SlidingCounts } from './sliding-counts.ts';

const at = (ms: number): SteadyTime => ms as SteadyTime;

test('what came within a time is counted, and what came before it is not', () => {
  const counts = new SlidingCounts<string>(10, 'other');
  counts.add('a', at(1_000));
  counts.add('a', at(6_000));
  counts.add('b', at(62_000));
  assert.deepEqual(
    [...counts.within(60_000, at(62_000))],
    [
      ['a', 1],
      ['b', 1],
    ],
  );
  assert.deepEqual(
    [...counts.within(300_000, at(62_000))],
    [
      ['a', 2],
      ['b', 1],
    ],
  );
  assert.equal(counts.count('a', 300_000, at(320_000)), 0);
});

test('after a long silence nothing of before is counted', () => {
  const counts = new SlidingCounts<string>(10, 'other');
  counts.add('a', at(0));
  assert.equal(counts.count('a', 300_000, at(300_000)), 0);
  assert.equal(counts.within(300_000, at(10_000_000)).size, 0);
});

test('of very many names the last ones count as one, until others are quiet', () => {
  const counts = new SlidingCounts<string>(2, 'other');
  for (const name of ['a', 'b', 'c', 'd']) counts.add(name, at(0));
  assert.deepEqual(
    [...counts.within(5_000, at(0))],
    [
      ['a', 1],
      ['b', 1],
      ['other', 2],
    ],
  );
  counts.add('c', at(900_000));
  assert.deepEqual([...counts.within(5_000, at(900_000))], [['c', 1]]);
});
