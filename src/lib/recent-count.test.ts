import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentCount } from './recent-count.ts';

test('what is older than a minute does not count', () => {
  const recent = new RecentCount();
  const start = 1_000_000_000;
  for (let i = 0; i < 5; i++) recent.add(start + i * 100);
  recent.add(start + 30_000);
  assert.equal(recent.count(start + 30_000), 6);
  assert.equal(recent.count(start + 59_999), 6);
  assert.equal(recent.count(start + 60_000), 1);
  assert.equal(recent.count(start + 90_000), 0);
  recent.add(start + 90_000);
  recent.add(start + 80_000);
  assert.equal(recent.count(start + 80_000), 2, 'a clock that goes backward loses nothing');
  assert.equal(recent.count(start + 10_000_000), 0);
});
