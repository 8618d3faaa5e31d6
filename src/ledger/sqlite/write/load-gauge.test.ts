import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../../test/support/hand-clock.ts';
import { Rush } from './load-gauge.ts';

test('a rush is more than five writes a millisecond since the last question', () => {
  const clock = handClock();
  const rush = new Rush(clock.steady);
  clock.pass(100);
  rush.wrote(500);
  assert.equal(rush.isOver(), true);
  clock.pass(100);
  rush.wrote(300);
  rush.wrote(201);
  assert.equal(rush.isOver(), false);
  clock.pass(100);
  assert.equal(rush.isOver(), true, 'what was counted before counts no more');
});
