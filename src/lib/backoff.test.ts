import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  const pausing = pause(60_000, ending.signal);
  ending.abort();
  await pausing;
  await pause(60_000, ending.signal);
  await pause(1, new AbortController().signal);
});
