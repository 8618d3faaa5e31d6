import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headersFor } from './api.ts';
import { readPasted } from './pasted-token.ts';

test('blanks and what cannot be seen around a token are no part of it', () => {
  for (const written of ['abc-1', ' abc-1\n', '\u200Babc-1\uFEFF', '\u200B abc-1']) {
    assert.deepEqual(readPasted(written), { kind: 'token', token: 'abc-1' });
  }
});

test('what cannot be seen inside of it is named, and nothing is asked', () => {
  assert.deepEqual(readPasted('ab\u200Bc'), {
    kind: 'fault',
    fault: 'It holds what cannot be seen (U+200B): copy it anew, or write it.',
  });
});

test('nothing is no token', () => {
  for (const written of ['', ' ', '\u200B']) assert.equal(readPasted(written).kind, 'fault');
});

test('each token can be sent, as the bytes that the service compares', () => {
  const { authorization } = headersFor('schlüssel\u200B');
  const sent = new Headers({ authorization: authorization }).get('authorization');
  assert.equal(Buffer.from(sent!, 'latin1').toString('utf8'), 'Bearer schlüssel\u200B');
});
