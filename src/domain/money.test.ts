import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountOf, compareAmounts, costOf, dearest, sumOf } from './money.ts';

test('what tokens cost is exact, where floating point is not', () => {
  const price = { input: '0.15', output: '0.6' };
  assert.equal(costOf({ input: 1, output: 0 }, price), '0.00000015');
  assert.equal(costOf({ input: 1_000_000, output: 1_000_000 }, price), '0.75');
  assert.equal(sumOf('0.1', '0.2'), '0.3');
  assert.equal(sumOf(), '0');
  const many = Array.from({ length: 1_000 }, () => '0.00000015');
  assert.equal(sumOf(...many), '0.00015');
});

test('tokens from a cache have their own price, and are a part of what was read', () => {
  const price = { input: '2', output: '8', cachedInput: '0.2' };
  const used = { input: 1_000_000, output: 500_000 };
  assert.equal(costOf({ ...used, cached: 900_000 }, price), '4.38');
  assert.equal(costOf({ ...used, cached: 1_000_001 }, price), '4.2');
  assert.equal(costOf({ ...used, cached: null }, price), '6');
  assert.equal(costOf({ ...used, cached: 900_000 }, { input: '2', output: '8' }), '6');
  assert.deepEqual(dearest(price), { input: '2', output: '8' });
  assert.deepEqual(dearest({ ...price, cachedInput: '2.5' }), { input: '2.5', output: '8' });
});

test('amounts are compared as numbers, not as texts', () => {
  assert.equal(compareAmounts('10', '9.99'), 1);
  assert.equal(compareAmounts('0.50', '0.5'), 0);
  assert.equal(compareAmounts('0.0000001', '0.1'), -1);
});

test('a number of a file becomes plain notation, whatever its size', () => {
  assert.equal(amountOf(0.15), '0.15');
  assert.equal(amountOf(1e-7), '0.0000001');
  assert.equal(amountOf(1.5e21), '1500000000000000000000');
  assert.equal(amountOf(0), '0');
});
