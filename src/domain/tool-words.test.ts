import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRule } from './tool-use.ts';

test('a rule is a grant by its place, or a rule of the cage in plain words', () => {
  assert.equal(describeRule('governance[0]'), 'grant 1');
  assert.equal(describeRule('governance[11]'), 'grant 12');
  assert.equal(describeRule('no_grant'), 'no grant for it');
  assert.equal(describeRule('host_not_listed'), 'host not listed');
  assert.equal(describeRule('constructor'), 'constructor');
});
