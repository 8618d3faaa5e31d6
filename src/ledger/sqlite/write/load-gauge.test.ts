import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../../test/support/hand-clock.ts';
import { LoadGauge } from './writer.ts';

test('a rush is more than five writes a millisecond since the last question', () => {
  const clock = handClock();
  const loadGauge = new LoadGauge(clock.steady);
  clock.pass(100);
  loadGauge.wrote(500);
  assert.equal(loadGauge.isCalm(), true);
  clock.pass(100);
  loadGauge.wrote(300);
  loadGauge.wrote(201);
  assert.equal(loadGauge.isCalm(), false);
  clock.pass(100);
  assert.equal(loadGauge.isCalm(), true, 'what was counted before counts no more');
});
