import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/hand-clock.ts';
import { RecentCount } from './recent-count.ts';

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
