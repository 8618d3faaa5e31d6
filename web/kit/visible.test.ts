import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsOf, visible } from './visible.ts';

test('what steers or hides is named by its number', () => {
  assert.equal(visible('invoice\u202Egnp.exe'), 'invoice[U+202E]gnp.exe');
  assert.equal(visible('de\u200Bsk'), 'de[U+200B]sk');
  assert.equal(visible('a\u0000b\u001Bc\u2028d\uFEFF'), 'a[U+0000]b[U+001B]c[U+2028]d[U+FEFF]');
  assert.equal(visible('soft\u00ADhyphen\u3164\u2800'), 'soft[U+00AD]hyphen[U+3164 and 1 more]');
  assert.equal(visible('half \uD83D'), 'half [U+D83D]');
});

test('many in a row are one mark', () => {
  assert.deepEqual(partsOf(`a${'\u200B'.repeat(5_000)}b`), [
    { kind: 'text', text: 'a' },
    { kind: 'mark', text: 'U+200B and 4999 more' },
    { kind: 'text', text: 'b' },
  ]);
});

test('what belongs to a script or an emoji stays as it is', () => {
  for (const name of [
    'desk',
    'Zoë',
    'مكتب المساعدة',
    'می‌خواهم',
    'क्‍ष',
    '東京',
    '👩‍👩‍👧',
    '❤️',
    '👋🏽',
    '1️⃣',
    '\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}',
  ]) {
    assert.equal(visible(name), name);
  }
});

test('a joiner between Latin letters is named', () => {
  assert.equal(visible('ad\u200Dmin'), 'ad[U+200D]min');
});

test('a blank name stands in quotes', () => {
  assert.equal(visible(' '), '“ ”');
  assert.equal(visible(''), '“”');
  assert.equal(visible('desk '), '“desk ”');
  assert.equal(visible('\u00A0'), '“\u00A0”');
});

test('a text of several lines keeps its lines', () => {
  assert.deepEqual(partsOf('one\r\n\ttwo\n', true), [{ kind: 'text', text: 'one\r\n\ttwo\n' }]);
  assert.equal(visible('one\ntwo'), 'one[U+000A]two');
});
