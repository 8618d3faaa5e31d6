import assert from 'node:assert/strict';
import { test } from 'node:test';
import { excerptCharactersMax } from '../../domain/search.ts';
import { matchOf, termsOf } from './words.ts';

const said = { text: null, reply: null, sender: null, conversation: '' };
function excerptOf(text: string, asked: string) {
  return matchOf({ ...said, text }, termsOf(asked))?.excerpt ?? null;
}
/** The texts of the hits in the excerpt. */
function shown(text: string, asked: string): readonly string[] {
  const excerpt = excerptOf(text, asked);
  return (excerpt?.hits ?? []).map(({ from, to }) => excerpt!.text.slice(from, to));
}

test('every word of the question stands somewhere, at the beginning of a word', () => {
  assert.deepEqual(shown('A parcel from Köln', 'koln par'), ['par', 'Köln']);
  assert.deepEqual(shown('A parcel', 'arcel'), []);
  assert.equal(excerptOf('A parcel', 'parcel lost'), null);
  const both = { ...said, text: 'a parcel', sender: 'ada', conversation: 'room' };
  assert.deepEqual(matchOf(both, termsOf('ada parcel'))?.excerpt?.hits, [{ from: 2, to: 8 }]);
  assert.deepEqual(matchOf(both, termsOf('ada room')), { excerpt: null });
});

test('a hit is where it stands in the text, whatever was left out to find it', () => {
  assert.deepEqual(shown('İstanbul ﬁsh e\u0301te\u0301 Ää', 'istan fi ete aa'), [
    'İstan',
    'ﬁ',
    'e\u0301te\u0301',
    'Ää',
  ]);
  assert.deepEqual(shown('私は東京都に住んでいます', '東京都'), ['東京都']);
  assert.deepEqual(shown('한국어'.normalize('NFD'), '한국'), ['한국'.normalize('NFD')]);
  assert.deepEqual(shown('ﾊﾟﾝとｶﾞｽ', 'ガス'), ['ｶﾞｽ']);
  assert.deepEqual(shown('aaa aab', 'aa a'), ['aa', 'aa']);
});

test('an excerpt is short, begins with a word, and cuts no letter in two', () => {
  const text = `${'word '.repeat(100)}needle ${'𝒳'.repeat(500)}`;
  const excerpt = excerptOf(text, 'needle')!;
  assert.ok(excerpt.text.length <= excerptCharactersMax);
  assert.ok(excerpt.text.isWellFormed());
  assert.match(excerpt.text, /^… word .*needle .* …$/u);
  assert.deepEqual(shown(text, 'needle'), ['needle']);
  const one = excerptOf('x'.repeat(5_000), 'xxx')!;
  assert.ok(one.text.length <= excerptCharactersMax && one.hits[0]!.to <= one.text.length);
});

test('many hits are bounded', () => {
  assert.ok(shown('ab '.repeat(10_000), 'ab').length <= 32);
});
