import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from './histogram.ts';

test('each time falls into the first bucket that holds it', () => {
  const histogram = new Histogram();
  for (const ms of [0, 1, 1.1, 600_000, 600_001]) histogram.observe(ms);
  assert.equal(histogram.counts[0], 2);
  assert.equal(histogram.counts[1], 1);
  assert.equal(histogram.counts.at(-2), 1);
  assert.equal(histogram.counts.at(-1), 1);
  assert.equal(histogram.count, 5);
  assert.equal(histogram.sumMs, 1_200_003.1);
});

test('a quantile is null for nothing, near the truth within a bucket, and capped beyond', () => {
  const histogram = new Histogram();
  assert.equal(histogram.quantile(0.5), null);
  for (let ms = 1; ms <= 100; ms++) histogram.observe(ms);
  assert.equal(histogram.quantile(0.5), 50);
  assert.equal(histogram.quantile(0.95), 95);
  assert.equal(histogram.quantile(1), 100);
  const late = new Histogram();
  late.observe(9_000_000);
  assert.equal(late.quantile(0.5), 600_000);
});
