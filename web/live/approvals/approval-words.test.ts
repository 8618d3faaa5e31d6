import assert from 'node:assert/strict';
import { test } from 'node:test';
import { laidOut, sayDecider, sayFate } from './approval-words.ts';

test('who decided is called as people call them', () => {
  assert.equal(sayDecider('operator'), 'an operator');
  assert.equal(sayDecider('approver'), 'an approver');
  assert.equal(sayDecider('messenger_a:42'), '42 on Telegram');
});

test('what became of a call goes by the turn that follows', () => {
  const open = { settledAt: null, outcome: null };
  assert.equal(sayFate('approved', open), 'it runs now, or soon');
  assert.equal(sayFate('approved', { settledAt: 1, outcome: 'done' }), 'done');
  assert.equal(sayFate('approved', { settledAt: 1, outcome: null }), 'it did not run');
  assert.equal(sayFate('refused', open), 'the model is being told');
  const told = 'it did not run; the model was told';
  assert.equal(sayFate('expired', { settledAt: 1, outcome: null }), told);
});

test('arguments are laid out; what is no JSON stays as it is', () => {
  assert.equal(laidOut('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(laidOut('{"a'), '{"a');
});
