/** A text is cut between characters, and only if it is too long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginningOf, piecesOf } from './shorten.ts';

test('what fits stays whole, and what does not is cut between two characters', () => {
  assert.equal(beginningOf('abc', 3), 'abc');
  assert.equal(beginningOf('abcd', 3), 'abc');
  assert.equal(beginningOf('ab😀', 4), 'ab😀');
  assert.equal(beginningOf('ab😀c', 4), 'ab😀');
  assert.equal(beginningOf('ab😀c', 3), 'ab');
});

test('only a run without a space is taken apart, and never within a character', () => {
  const words = 'some words and some more '.repeat(20);
  assert.deepEqual(piecesOf(words), [words]);
  const family = '👨‍👩‍👧';
  for (const one of ['A', '😀', 'é', 'é', family, '👍🏽']) {
    const text = `${words}${one.repeat(200)} ${words}`;
    const pieces = piecesOf(text);
    assert.equal(pieces.join(''), text);
    assert.ok(pieces.length > 1);
    const inside = pieces.slice(1, -1);
    assert.ok(
      inside.every((piece) => piece.replaceAll(one, '') === ''),
      one,
    );
  }
});
