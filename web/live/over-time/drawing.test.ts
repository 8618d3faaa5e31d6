import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bandsOf, barsOf } from './drawing.ts';

test('the highest value is as high as the drawing, and an unknown one is none', () => {
  assert.equal(barsOf([4, null, 0, 2], 4), 'M0 24V0h0.8V24zM3 24V12h0.8V24z');
});

test('a value that is small beside the others can be seen', () => {
  assert.equal(barsOf([1_000, 1], 1_000), 'M0 24V0h0.8V24zM1 24V22.5h0.8V24z');
});

test('of many steps none is lost in a gap', () => {
  const steps = Array.from({ length: 288 }, (_, at) => at === 287);
  assert.equal(bandsOf(steps), 'M287 24V0h1V24z');
});
