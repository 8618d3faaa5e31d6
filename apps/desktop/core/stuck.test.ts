/** The facts that a page gets about a service that lacks a secret. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MissingSecret } from '../../../src/config/secrets.ts';
import { faultOf } from '../../../src/secrets/keychain/faults.ts';
import { stuckBySecrets } from './service-core.ts';

test('what is to be done about a keychain is told once, and not with each secret', () => {
  const { message, remedy } = faultOf({ state: 'locked', reason: null }, 'linux');
  const why = (source: 'keychain' | 'file'): string => {
    const found = { kind: 'unreadable', source, message: 'T is locked', remedy } as const;
    const missing = [{ name: 'T', usedAt: ['here'], found }] as unknown as readonly MissingSecret[];
    const stuck = stuckBySecrets({ missing, unfit: [] }, [], { state: 'locked', told: message });
    assert.ok(stuck.of === 'secrets');
    return stuck.missing[0]!.why;
  };
  assert.equal(why('keychain'), 'T is locked.');
  assert.equal(why('file'), `T is locked. ${remedy}`);
});
