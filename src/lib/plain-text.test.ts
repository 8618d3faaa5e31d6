import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainJson, plainLine, plainText } from './plain-text.ts';

const wild = 'a\u001B[2J\u009B1m\u202Eb\r\n\tc\u007F';

test('what could drive a terminal is left out of a text, lines and tabs are not', () => {
  assert.equal(plainText(wild), 'a[2J1mb\n\tc');
});

test('a line stays one line', () => {
  assert.equal(plainLine(`${wild}\n\nd\u2028e`), 'a[2J1mb c d e');
});

test('JSON leaves nothing out, and drives no terminal', () => {
  for (const indent of [0, 2]) {
    const json = plainJson({ wild, list: ['\u2028', 'ü😀'] }, indent);
    assert.doesNotMatch(json, /[[\p{Cc}\p{Bidi_Control}\u2028]--\n]/v);
    assert.deepEqual(JSON.parse(json), { wild, list: ['\u2028', 'ü😀'] });
    assert.equal(json.includes('\n'), indent > 0);
  }
});
