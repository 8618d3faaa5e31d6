import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOf, fullness, roughCost, describeLimit, tokensIn } from './spend-words.ts';

const spent = {
  calls: 3,
  tokens: { input: 240, output: 80 },
  costing: { input: 0, output: 0 },
  estimatedCalls: 0,
  open: { input: 0, output: 0 },
  cost: null,
  openCost: null,
};

test('tokens are told in and out, with "about" where some are estimated', () => {
  assert.equal(tokensIn(spent), '240 in, 80 out');
  assert.equal(allOf(spent), '3 calls, 240 tokens in, 80 out');
  const partly = { ...spent, estimatedCalls: 1 };
  assert.equal(tokensIn(partly), 'about 240 in, 80 out');
  assert.equal(allOf(partly), '3 calls, about 240 tokens in, 80 out');
});

test('what costs little is not rounded to nothing', () => {
  assert.equal(roughCost('0'), '0');
  assert.equal(roughCost('0.00123456'), (0.0012).toLocaleString(undefined, digits(4)));
  assert.equal(roughCost('12.345678'), (12.35).toLocaleString(undefined, digits(2)));
});

const digits = (maximumFractionDigits: number) => ({ maximumFractionDigits });

test('a bound says what is used of it, or that it is of each turn', () => {
  const day = { limit: 'tokens_per_day', most: '900', used: '250', percent: 27 } as const;
  assert.equal(describeLimit({ ...day, reserved: '0' }), 'Tokens today: 250 of 900 used');
  assert.equal(
    describeLimit({ ...day, reserved: '15' }),
    'Tokens today: 250 of 900 used, 15 reserved',
  );
  const turn = { limit: 'tokens_per_turn', most: '200' } as const;
  const none = { used: null, reserved: null, percent: null };
  assert.equal(describeLimit({ ...turn, ...none }), 'Tokens of each turn: 200 at most');
});

test('a budget that is nearly used up is told so before it is', () => {
  assert.deepEqual(
    [79, 80, 99, 100].map((percent) => fullness(percent)[1]),
    ['79 %', 'nearly full (80 %)', 'nearly full (99 %)', 'full (100 %)'],
  );
});
