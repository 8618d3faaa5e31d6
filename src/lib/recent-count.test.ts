import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { RecentCount, RecentPairs } from './sliding-counts.ts';

test('what is older than a minute does not count', () => {
  const recent = new RecentCount();
  const clock = handClock();
  const { steady } = clock;
  for (let i = 0; i < 5; i++) recent.add(clock.in(i * 100));
  clock.pass(30_000);
  recent.add(steady());
  assert.equal(recent.count(steady()), 6);
  clock.pass(29_999);
  assert.equal(recent.count(steady()), 6);
  clock.pass(1);
  assert.equal(recent.count(steady()), 1);
  clock.pass(30_000);
  assert.equal(recent.count(steady()), 0);
  recent.add(steady());
  assert.equal(recent.count(steady()), 1);
  clock.pass(10_000_000);
  assert.equal(recent.count(steady()), 0);
});

test('pairs are counted apart, and those of no minute make room for others', () => {
  const clock = handClock();
  const { steady } = clock;
  const pairs = new RecentPairs(2);
  for (const to of ['b', 'c', 'c', 'd']) pairs.add('a', to, steady());
  assert.deepEqual(pairs.count(steady()), [
    { from: 'a', to: 'b', count: 1 },
    { from: 'a', to: 'c', count: 2 },
  ]);
  clock.pass(60_000);
  pairs.add('a', 'c', steady());
  assert.deepEqual(pairs.count(steady()), [{ from: 'a', to: 'c', count: 1 }]);
  pairs.add('a', 'd', steady());
  assert.equal(pairs.count(steady()).length, 2);
});
