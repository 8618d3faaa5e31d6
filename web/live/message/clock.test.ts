import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row, RowPart } from '../../../src/domain/timeline.ts';
import { clockOf } from './clock.ts';

function row(part: RowPart, atMs: number, forMs: number): Row {
  return { part, atMs, forMs, what: '', deep: false, ended: null };
}

test('a short story is drawn as it was', () => {
  const clock = clockOf([row('wait', 0, 20), row('model', 20, 60), row('delivery', 80, 20)], 100);
  assert.deepEqual([0, 20, 80, 100].map(clock.at), [0, 20, 80, 100]);
  assert.deepEqual(clock.cuts, []);
  assert.deepEqual(clock.ticks, [0, 25, 50, 75, 100]);
});

test('a wait of hours between tries leaves the milliseconds of work to be seen', () => {
  const hourMs = 3_600_000;
  const rows = [row('model', 0, 80), row('delivery', 80, 10), row('delivery', 90 + hourMs, 10)];
  const clock = clockOf(rows, 100 + hourMs);
  assert.deepEqual(clock.cuts, [{ fromMs: 90, toMs: 90 + hourMs }]);
  // The work takes 100 ms in total, so the wait is drawn as 100 ms.
  assert.equal(clock.at(80), 40);
  assert.equal(clock.at(90), 45);
  assert.equal(clock.at(90 + hourMs), 95);
  assert.equal(clock.at(100 + hourMs), 100);
  assert.deepEqual(clock.ticks, [0, 100 + hourMs]);
});

test('what only waits is drawn as long as it has waited', () => {
  const clock = clockOf([row('wait', 0, 70_000)], 70_000);
  assert.deepEqual([clock.at(35_000), clock.cuts], [50, []]);
});

test('a story without any length has a place for each of its moments', () => {
  assert.equal(clockOf([row('accepted', 0, 0)], 0).at(0), 0);
});

test('models that were asked at once are one stretch of work', () => {
  const rows = [row('model', 0, 100), row('model', 50, 100), row('delivery', 5_150, 50)];
  const clock = clockOf(rows, 5_200);
  // 150 + 50 of work, so the wait is drawn as 200.
  assert.equal(clock.at(150), 37.5);
});
