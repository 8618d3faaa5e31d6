import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogHistogram } from './histogram.ts';

/** The value that this share of all values does not exceed. */
function exact(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1]!;
}

function of(values: readonly number[]): LogHistogram {
  const made = new LogHistogram();
  for (const value of values) made.observe(value);
  return made;
}

/** Random durations from one millisecond to ten minutes, with equal shares per length. */
const anyLength = (): number => Math.exp(Math.random() * Math.log(600_000));

const shares = [0.01, 0.5, 0.9, 0.95, 0.99, 1];

test('each percentile is within 10 % of the exact one', () => {
  for (const many of [1, 2, 7, 100, 5_000]) {
    const values = Array.from({ length: many }, anyLength);
    const histogram = of(values);
    for (const share of shares) {
      const [told, wanted] = [histogram.quantile(share)!, exact(values, share)];
      assert.ok(Math.abs(told - wanted) <= 0.1 * wanted, `${told}, not ${wanted}, of ${many}`);
    }
  }
});

test('what several told adds up to what one would have told of all', () => {
  const parts = Array.from({ length: 5 }, () => Array.from({ length: 200 }, anyLength));
  const sum = new LogHistogram();
  for (const [at, part] of parts.entries()) {
    if (at % 2 === 0) sum.add(of(part));
    else sum.addTold(JSON.parse(JSON.stringify(of(part).told())) as number[]);
  }
  assert.deepEqual(sum.told(), of(parts.flat()).told());
  for (const share of shares) assert.equal(sum.quantile(share), of(parts.flat()).quantile(share));
});

test('nothing has no percentile, and whatever is observed has a bucket', () => {
  assert.equal(new LogHistogram().quantile(0.5), null);
  for (const odd of [0, -1, Number.NaN]) assert.equal(of([odd]).quantile(0.5), 1);
  assert.ok(of([1e12]).quantile(0.5)! > 2 ** 20);
});

test('of what was told, what is no bucket is left out', () => {
  const histogram = new LogHistogram();
  histogram.addTold([999, 5, -1, 5, 1.5, 5, 3, -5, 3, 0.5, 3, Number.NaN, 4, 2, 5]);
  assert.deepEqual(histogram.told(), [4, 2]);
});
