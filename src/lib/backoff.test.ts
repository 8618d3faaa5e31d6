import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { within } from '../../test/support/waiting.ts';
import { fullJitter, pause, spread } from './backoff.ts';

test('full jitter is anywhere between 0 and the doubled base, up to the cap', () => {
  const limits = { baseMs: 200, capMs: 2_000 };
  const most = [0, 1, 2, 3, 4, 40].map((attempt) => fullJitter(attempt, limits, () => 1));
  assert.deepEqual(most, [200, 400, 800, 1_600, 2_000, 2_000]);
  assert.equal(
    fullJitter(3, limits, () => 0),
    0,
  );
});

test('a spread stays within its share on both sides', () => {
  const pauses = [0, 0.5, 1].map((random) => Math.round(spread(1_000, 0.2, () => random)));
  assert.deepEqual(pauses, [800, 1_000, 1_200]);
});

test('a pause ends early when its signal aborts, and takes nothing with it', async () => {
  const ending = new AbortController();
  const foreverMs = 2 ** 30;
  const pausing = pause(foreverMs, ending.signal);
  ending.abort();
  await within('the end of a pause under way', pausing);
  await within('the end of a pause that was never begun', pause(foreverMs, ending.signal));
});

test('a pause ends by itself when its time is over, and not before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isOver = false;
  const pauseMs = 200;
  const pausing = pause(pauseMs, new AbortController().signal).then(() => (isOver = true));
  t.mock.timers.tick(pauseMs - 1);
  await setImmediate();
  assert.equal(isOver, false);
  t.mock.timers.tick(1);
  await pausing;
});
