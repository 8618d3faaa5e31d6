import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { runs } from '../../test/support/runs.ts';
import { SlidingShare } from './sliding-counts.ts';

test('each kind counts for as long as it was asked for, and no longer than five minutes', () => {
  const counts = new SlidingShare();
  const clock = handClock();
  const { steady } = clock;
  counts.add(true, steady());
  for (let n = 0; n < 3; n++) counts.add(false, steady());
  assert.deepEqual(counts.of(60_000, steady()), { good: 1, bad: 3 });
  clock.pass(60_000);
  counts.add(true, steady());
  assert.deepEqual(counts.of(60_000, steady()), { good: 1, bad: 0 });
  assert.deepEqual(counts.of(300_000, steady()), { good: 2, bad: 3 });
  clock.pass(240_000);
  assert.deepEqual(counts.of(300_000, steady()), { good: 1, bad: 0 });
  clock.pass(10_000_000);
  assert.deepEqual(counts.of(300_000, steady()), { good: 0, bad: 0 });
  counts.add(false, steady());
  counts.clear();
  assert.deepEqual(counts.of(300_000, steady()), { good: 0, bad: 0 });
});

test('it counts what a list of all of them counts, to one slot', () => {
  for (let run = 0; run < runs(50); run++) {
    const counts = new SlidingShare();
    const clock = handClock();
    const all: { readonly isGood: boolean; readonly at: number }[] = [];
    for (let n = 0; n < 300; n++) {
      clock.pass(Math.floor(Math.random() * 9_000));
      const isGood = Math.random() < 0.5;
      counts.add(isGood, clock.steady());
      all.push({ isGood, at: clock.steady() });
      for (const ms of [60_000, 300_000]) {
        const share = counts.of(ms, clock.steady());
        const since = (back: number) =>
          all.filter(({ isGood: good, at }) => good && at > clock.steady() - back).length;
        assert.ok(share.good >= since(ms - 5_000) && share.good <= since(ms + 1), `${share.good}`);
      }
    }
  }
});
