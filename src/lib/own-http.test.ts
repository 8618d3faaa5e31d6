import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownHttpVariable, usesOwnHttp } from './http-client.ts';

test('HTTP of our own is used unless it is switched off', () => {
  assert.equal(usesOwnHttp({}), true);
  assert.equal(usesOwnHttp({ [ownHttpVariable]: 'on' }), true);
  assert.equal(usesOwnHttp({ [ownHttpVariable]: 'off' }), false);
});
