import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wellFormed } from './plain-text.ts';

test('half characters are replaced wherever they stand, and nothing else is touched', () => {
  const odd = { a: ['x\ud83d', '\udc00\udc00'], '\ud800': { b: '\\\ud83d', n: 5 } };
  assert.deepEqual(wellFormed(odd), {
    a: ['x\ufffd', '\ufffd\ufffd'],
    '\ufffd': { b: '\\\ufffd', n: 5 },
  });
  assert.equal(wellFormed('half \ud83d'), 'half \ufffd');
  const whole = { a: '😀', b: '\\ud83d', c: null };
  assert.equal(wellFormed(whole), whole, 'an escape in the text itself is text');
  const circle: { self?: unknown } = {};
  circle.self = circle;
  assert.equal(wellFormed(circle), circle);
  assert.equal(wellFormed(undefined), undefined);
});
