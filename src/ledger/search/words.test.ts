import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysOf, termsOf, wordsOf } from './words.ts';

test('words are lower case, without accents, each once', () => {
  assert.equal(
    wordsOf('Où est CAFÉ? café', null, 'Don’t a_b +49-151'),
    'ou est cafe don t a b 49 151',
  );
  assert.equal(wordsOf('ΟΔΟΣ οδος ЁЖ straße ﬁne'), 'οδοσ еж straße fine');
});

test('what is written without spaces is kept by two letters each, and its last one', () => {
  assert.equal(wordsOf('東京都へ go'), '東京 京都 都へ へ go');
  assert.equal(wordsOf('が か'), 'が か');
  assert.equal(wordsOf('𠮷野'), '𠮷野 野');
  assert.equal(wordsOf('สวัสดี').split(' ').length, Array.from('สวัสดี').length);
  assert.equal(wordsOf('한국어 말'), '한국어 말');
});

test('a question has few words, none of them a sign of any language of questions', () => {
  const words = (asked: string): readonly string[] => termsOf(asked).map(({ text }) => text);
  assert.deepEqual(words('"a* OR (b NEAR/2 c:d) -e & \' \\ '), [
    'a',
    'or',
    'b',
    'near',
    '2',
    'c',
    'd',
    'e',
  ]);
  assert.deepEqual(words('*** "" \0'), []);
  assert.equal(words('one '.repeat(50)).length, 8);
});

test('a word is looked for by its beginning, a single letter whole, a run by its pairs', () => {
  const keys = keysOf(termsOf('par x 東京都 家')).map(
    ({ word, begins }) => `${word}${begins ? '*' : ''}`,
  );
  assert.deepEqual(keys, ['par*', 'x', '東京', '京都', '家*']);
});

test('very long words and texts are bounded, and no letter is cut in two', () => {
  assert.equal(wordsOf('x'.repeat(1_000)).length, 64);
  assert.equal(keysOf(termsOf('x'.repeat(100)))[0]!.word.length, 64);
  assert.ok(wordsOf(`${'a'.repeat(63)}𝒳𝒳𝒳`).isWellFormed());
  const many = Array.from({ length: 100_000 }, (_, at) => `word${at}`).join(' ');
  assert.ok(wordsOf(many).length < 300_000);
});

test('what is ASCII gives the words that it gives beside other letters', () => {
  const all = String.fromCodePoint(...Array.from({ length: 128 }, (_, at) => at));
  const text = `${all}_a-b.c 12e3${all}`;
  assert.equal(wordsOf(text), wordsOf(`${text} é`).replace(/ e$/, ''));
});
