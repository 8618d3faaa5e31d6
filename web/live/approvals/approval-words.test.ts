import assert from 'node:assert/strict';
import { test } from 'node:test';
import { laidOut, describeDecider, describeFate } from './approval-words.ts';

test('who decided is called as people call them', () => {
  assert.equal(describeDecider('operator'), 'an operator');
  assert.equal(describeDecider('approver'), 'an approver');
  assert.equal(describeDecider('messenger_a:42'), '42 on Telegram');
});

test('what became of a call goes by the turn that follows', () => {
  const open = { settledAt: null, outcome: null };
  assert.equal(describeFate('approved', open), 'it runs now, or soon');
  assert.equal(describeFate('approved', { settledAt: 1, outcome: 'done' }), 'done');
  assert.equal(describeFate('approved', { settledAt: 1, outcome: null }), 'it did not run');
  assert.equal(describeFate('refused', open), 'the model is being told');
  const told = 'it did not run; the model was told';
  assert.equal(describeFate('expired', { settledAt: 1, outcome: null }), told);
});

test('arguments are laid out; what is no JSON stays as it is', () => {
  assert.equal(laidOut('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(laidOut('{"a'), '{"a');
});
