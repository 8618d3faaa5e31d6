import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sayRule } from './tool-words.ts';

test('a rule is a grant by its place, or a rule of the cage in plain words', () => {
  assert.equal(sayRule('governance[0]'), 'grant 1');
  assert.equal(sayRule('governance[11]'), 'grant 12');
  assert.equal(sayRule('no_grant'), 'no grant for it');
  assert.equal(sayRule('host_not_listed'), 'host not listed');
  assert.equal(sayRule('constructor'), 'constructor');
});
