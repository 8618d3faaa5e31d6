/**
 * The words of a text, as every form keeps them in its index and looks for them: in lower case, and
 * without the accents of Latin, Greek and Cyrillic letters. Chinese, Japanese, Thai and others are
 * written without spaces, so a run of their letters is kept as every two letters that stand
 * together, and its last one.
 *
 * What is kept of a text is deleted by its words: the same text has to give the same words for as
 * long as it is kept. So an index says by which rules it was made.
 */

/** To be raised with every change of what a text gives. */
const rules = 1;

/** Rules of which an index is made; letters are what Unicode says they are. */
export const wordRules = `${rules} of Unicode ${process.versions['unicode'] ?? ''}`;

/** Longer ones are known by their beginning. */
const wordCharactersMax = 64;
/** What a text has beyond that many characters of different words is not found. */
const wordsCharactersMax = 200_000;
/** So many words of a question count. */
const termsMax = 8;

const ascii = /^[\0-\x7f]*$/;
const asciiWord = /[a-z0-9]+/g;
const marks = /[\u0300-\u036f]+/g;

/** Two texts that differ in case and accents alone are the same then. */
export function fold(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  const bare = text.normalize('NFKD').replaceAll(marks, '').normalize('NFKC');
  return bare.toLowerCase().replaceAll(marks, '').replaceAll('ς', 'σ');
}

const scripts = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
/** The sign for a long vowel belongs to two of them. */
const spaceless = `${scripts.map((name) => `\\p{sc=${name}}`).join('')}\\u30fc`;
const piece = new RegExp(`(?<run>[${spaceless}]+)|[[\\p{L}\\p{N}\\p{M}]--[${spaceless}]]+`, 'gv');

/** `isRun`: of letters that are written without spaces. */
export type Piece = { readonly text: string; readonly at: number; readonly isRun: boolean };

/** @param folded see `fold` */
export function* piecesOf(folded: string): Generator<Piece> {
  for (const found of folded.matchAll(piece)) {
    yield { text: found[0], at: found.index, isRun: found.groups?.['run'] !== undefined };
  }
}

/** The different words of these texts, with a space between them. */
export function wordsOf(...texts: readonly (string | null)[]): string {
  const words = new Set<string>();
  let characters = 0;
  for (const text of texts) {
    if (text === null) continue;
    for (const word of wordsIn(fold(text))) {
      if (words.has(word)) continue;
      characters += word.length;
      if (characters > wordsCharactersMax) return [...words].join(' ');
      words.add(word);
    }
  }
  return [...words].join(' ');
}

/** The same by a simpler way where all of it is ASCII. */
function wordsIn(folded: string): Iterable<string> {
  if (ascii.test(folded)) return (folded.match(asciiWord) ?? []).map(cut);
  return piecesOf(folded).flatMap(({ text, isRun }) =>
    isRun ? [...pairsOf(text), lastOf(text)] : [cut(text)],
  );
}

/** One word of a question. A run is found wherever it stands, any other at the start of a word. */
export type Term = Pick<Piece, 'text' | 'isRun'>;

export function termsOf(asked: string): readonly Term[] {
  const pieces = piecesOf(fold(asked)).take(termsMax);
  return pieces.map(({ text, isRun }) => ({ text: cut(text), isRun })).toArray();
}

/**
 * What an index has of a text in which all terms stand. `begins`: of it only the beginning. One
 * letter alone is a whole word: too many begin with it.
 */
export type Key = { readonly word: string; readonly begins: boolean };

export function keysOf(terms: readonly Term[]): readonly Key[] {
  return terms.flatMap(({ text, isRun }): Key[] => {
    const pairs = isRun ? pairsOf(text) : [];
    if (pairs.length === 0) return [{ word: text, begins: isRun || text.length > 1 }];
    return pairs.map((word) => ({ word, begins: false }));
  });
}

function pairsOf(run: string): readonly string[] {
  const letters = Array.from(run);
  return letters.slice(1).map((letter, at) => letters[at]! + letter);
}

function lastOf(run: string): string {
  return String.fromCodePoint(run.codePointAt(run.length - (isLow(run) ? 2 : 1))!);
}

/** Whether it ends with the second half of a pair of surrogates. */
function isLow(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xdc00 && last <= 0xdfff;
}

function cut(word: string): string {
  if (word.length <= wordCharactersMax) return word;
  const start = word.slice(0, wordCharactersMax);
  return start.isWellFormed() ? start : start.slice(0, -1);
}
