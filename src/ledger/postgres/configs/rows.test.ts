import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProposalEnd } from '../../../cluster/backend.ts';
import { readEnd, readRefusal } from './shared-configs.ts';

const instance = { id: 7, host: 'web-1', version: '2.0.0' };
const no = { code: 'secret_missing', detail: 'BOT is not set.' };

test('what this release says of a proposal is read as it was', () => {
  const ends: readonly ProposalEnd[] = [
    { kind: 'used', n: 4 },
    { kind: 'refused', refusals: [{ instance, ...no }] },
    { kind: 'closed', why: 'moved' },
    { kind: 'closed', why: 'withdrawn' },
  ];
  for (const end of ends) assert.deepEqual(readEnd(JSON.stringify(end)), end);
  assert.deepEqual(readRefusal(JSON.stringify(no)), no);
});

test('what another release adds is left out', () => {
  const more = { since: 1, instance: { ...instance, region: 'x' } };
  assert.deepEqual(readRefusal(JSON.stringify({ ...no, ...more })), no);
  assert.deepEqual(readEnd(JSON.stringify({ kind: 'used', n: 4, ...more })), {
    kind: 'used',
    n: 4,
  });
  assert.deepEqual(readEnd(JSON.stringify({ kind: 'refused', refusals: [{ ...no, ...more }] })), {
    kind: 'refused',
    refusals: [{ instance, ...no }],
  });
});

test('what nobody can read stays a no, and an end', () => {
  for (const told of ['', '{', 'null', '7', '[]', '{"code":1,"detail":{}}']) {
    const { code, detail } = readRefusal(told);
    assert.equal(code, 'unreadable', told);
    assert.match(detail, /another release/);
    assert.deepEqual(readEnd(told), { kind: 'closed', why: 'late' }, told);
  }
  for (const told of ['{"kind":"used"}', '{"kind":"put_off"}', '{"kind":"closed","why":"x"}']) {
    assert.deepEqual(readEnd(told), { kind: 'closed', why: 'late' }, told);
  }
  const end = readEnd('{"kind":"refused","refusals":[null,{"code":"x"}]}');
  assert.deepEqual(end.kind === 'refused' && end.refusals.map(({ code }) => code), [
    'unreadable',
    'x',
  ]);
});
