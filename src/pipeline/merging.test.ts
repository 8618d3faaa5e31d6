import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Gather, Inbound } from '../domain/message.ts';
import { withMergeWindow } from './merging.ts';

const album: Gather = { kind: 'album', key: 'a', ms: 1_000 };
const on = { gatherMs: 500, knows: ({ text }: Inbound) => text.startsWith('/new') };
const off = { ...on, gatherMs: 0 };

function gatherOf(message: Partial<Inbound>, rules: typeof on): Gather | undefined {
  return withMergeWindow({ text: 'hello', ...message } as Inbound, rules).gather;
}

test('what is said is merged where the channel says so, and a command never', () => {
  assert.deepEqual(gatherOf({}, on), { kind: 'burst', ms: 500 });
  assert.equal(gatherOf({}, off), undefined);
  assert.equal(gatherOf({ text: '/new one' }, on), undefined);
});

test('when a message was said by its platform goes with it', () => {
  const saidAt = { at: 1_700_000_000_000, stepMs: 1_000 };
  assert.deepEqual(gatherOf({ saidAt }, on), { kind: 'burst', ms: 500, saidAt });
});

test('what is forwarded, and what replies or quotes, is no part of a burst', () => {
  const quoted = { text: 'one', by: 'other', name: 'Bob', at: 0 } as const;
  assert.equal(gatherOf({ context: { forwardedFrom: 'Bob' } }, on), undefined);
  assert.equal(gatherOf({ context: { forwardedFrom: null } }, on), undefined);
  assert.equal(gatherOf({ context: { inGroup: true, quoted } }, on), undefined);
  assert.deepEqual(gatherOf({ context: { inGroup: true } }, on), { kind: 'burst', ms: 500 });
  assert.deepEqual(gatherOf({ gather: album, context: { forwardedFrom: 'Bob' } }, on), album);
});

test('a part of an album is one everywhere, whatever its caption', () => {
  for (const rules of [on, off]) {
    assert.deepEqual(gatherOf({ gather: album }, rules), album);
    assert.deepEqual(gatherOf({ gather: album, text: '/new look' }, rules), album);
  }
});

test('the pairing request of a stranger stands alone', () => {
  assert.equal(gatherOf({ gather: album, pairingCode: 'ABCD' }, on), undefined);
  assert.equal(gatherOf({ pairingCode: 'ABCD' }, on), undefined);
});

test('an edit stands alone, and so does in a burst what nobody knows who said', () => {
  for (const gather of [undefined, album]) {
    assert.equal(gatherOf({ apart: 'edit', ...(gather && { gather }) }, on), undefined);
  }
  assert.equal(gatherOf({ apart: 'anonymous' }, on), undefined);
  assert.deepEqual(gatherOf({ apart: 'anonymous', gather: album }, on), album);
});
