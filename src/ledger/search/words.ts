/**
 * The words of a text, as every backend indexes and searches them: in lower case, and without the
 * accents of Latin, Greek and Cyrillic letters. Some scripts, such as Chinese, Japanese and Thai,
 * are written without spaces. A run of their letters is indexed as every pair of neighbours, and
 * its last letter.
 *
 * An index deletes a text by its words, so the same text must always give the same words. That is
 * why an index records the rules that made it.
 */
import { excerptCharactersMax, type Excerpt, type Hit } from '../../domain/search.ts';

// Finds the words of a question in a text, and makes the excerpt.

/** The searched fields of one message. */
type SearchedMessage = {
  readonly text: string | null;
  readonly reply: string | null;
  readonly sender: string | null;
  readonly conversation: string;
};

/** At most this many hits are marked in an excerpt. */
const hitsMax = 32;
/** How much text an excerpt shows before its first hit. */
const leadCharacters = 50;

/**
 * @param terms at least one
 * @returns null: one of the terms is nowhere; an excerpt of null: all terms are in the ids
 */
export function matchOf(
  message: SearchedMessage,
  terms: readonly Term[],
): { readonly excerpt: Excerpt | null } | null {
  const fields = [message.text, message.reply, message.sender, message.conversation];
  const found = fields.map((field) => (field === null ? null : findIn(field, terms)));
  const all = new Set(found.flatMap((one) => [...(one?.terms ?? [])]));
  if (all.size < terms.length) return null;
  for (const at of [0, 1]) {
    const hits = found[at]?.hits ?? [];
    if (hits.length > 0) return { excerpt: excerptOf(fields[at]!, hits) };
  }
  return { excerpt: null };
}

type FoundIn = { readonly hits: readonly Hit[]; readonly terms: ReadonlySet<Term> };

function findIn(text: string, terms: readonly Term[]): FoundIn {
  const { folded, placeOf } = foldWithPlaces(text);
  const hits: Hit[] = [];
  const found = new Set<Term>();
  for (const piece of piecesOf(folded)) {
    for (const term of terms) {
      if (term.isRun !== piece.isRun) continue;
      const at = piece.isRun
        ? piece.text.indexOf(term.text)
        : piece.text.startsWith(term.text)
          ? 0
          : -1;
      if (at === -1) continue;
      found.add(term);
      const from = piece.at + at;
      if (hits.length < hitsMax)
        hits.push({ from: placeOf(from), to: placeOf(from + term.text.length) });
    }
    if (found.size === terms.length && hits.length >= hitsMax) break;
  }
  return { hits, terms: found };
}

/**
 * A letter with its marks, a Hangul syllable with all its parts, a narrow kana with its sign. A hit
 * in the folded text marks all of these characters.
 */
const letterWithMarks = /[\s\S][\p{M}\u1160-\u11ff\uff9e\uff9f]*/gu;

/** `placeOf` maps a position in the folded text to one in the original. */
function foldWithPlaces(text: string): {
  readonly folded: string;
  readonly placeOf: (at: number) => number;
} {
  if (ascii.test(text)) return { folded: fold(text), placeOf: (at) => at };
  const places: number[] = [];
  let folded = '';
  for (const { 0: letter, index } of text.matchAll(letterWithMarks)) {
    folded += fold(letter);
    while (places.length < folded.length) places.push(index);
  }
  return { folded, placeOf: (at) => places[at] ?? text.length };
}

function excerptOf(text: string, hits: readonly Hit[]): Excerpt {
  const ordered = withoutOverlaps(hits.toSorted((a, b) => a.from - b.from));
  const first = ordered[0]!;
  const from = wordStart(text, Math.max(0, first.from - leadCharacters), first.from);
  const head = from > 0 ? '… ' : '';
  const room = excerptCharactersMax - head.length - 2;
  const to = text.length - from <= room ? text.length : characterBoundary(text, from + room);
  const shown = `${head}${text.slice(from, to)}${to < text.length ? ' …' : ''}`;
  const moved = ordered
    .filter((hit) => hit.from < to)
    .map((hit) => ({
      from: hit.from - from + head.length,
      to: Math.min(hit.to, to) - from + head.length,
    }));
  return { text: shown, hits: moved };
}

/** Merges overlapping hits. */
function withoutOverlaps(ordered: readonly Hit[]): readonly Hit[] {
  const apart: Hit[] = [];
  for (const hit of ordered) {
    const last = apart.at(-1);
    if (last === undefined || hit.from >= last.to) apart.push(hit);
    else if (hit.to > last.to) apart[apart.length - 1] = { from: last.from, to: hit.to };
  }
  return apart;
}

/** The first start of a word between the two positions. */
function wordStart(text: string, from: number, before: number): number {
  if (from === 0) return 0;
  const space = text.slice(from, before).search(/\s/);
  return space === -1 ? characterBoundary(text, from) : from + space + 1;
}

/** Moves a position so that it splits no surrogate pair. */
function characterBoundary(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** Raise it with every change of the words that a text gives. */
const rules = 1;

/** The rules that made an index. The Unicode version decides what is a letter. */
export const wordRules = `${rules} of Unicode ${process.versions['unicode'] ?? ''}`;

/** Longer words are cut to this length. */
const wordCharactersMax = 64;
/** Only this many characters of different words are indexed for one text. */
const wordsCharactersMax = 200_000;
/** At most this many words of a question count. */
const termsMax = 8;

const ascii = /^[\0-\x7f]*$/;
const asciiWord = /[a-z0-9]+/g;
const marks = /[\u0300-\u036f]+/g;

/** Folds a text: texts that differ only in case and accents become equal. */
export function fold(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  const bare = text.normalize('NFKD').replaceAll(marks, '').normalize('NFKC');
  return bare.toLowerCase().replaceAll(marks, '').replaceAll('ς', 'σ');
}

const scripts = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
/** The prolonged sound mark belongs to two of the scripts. */
const spaceless = `${scripts.map((name) => `\\p{sc=${name}}`).join('')}\\u30fc`;
const wordPattern = new RegExp(
  `(?<run>[${spaceless}]+)|[[\\p{L}\\p{N}\\p{M}]--[${spaceless}]]+`,
  'gv',
);

/** `isRun`: letters of a script that is written without spaces. */
export type Piece = { readonly text: string; readonly at: number; readonly isRun: boolean };

/** @param folded a result of `fold` */
export function* piecesOf(folded: string): Generator<Piece> {
  for (const found of folded.matchAll(wordPattern)) {
    yield { text: found[0], at: found.index, isRun: found.groups?.['run'] !== undefined };
  }
}

/** The different words of these texts, separated by spaces. */
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

/** The words of a folded text; plain ASCII takes a faster way. */
function wordsIn(folded: string): Iterable<string> {
  if (ascii.test(folded)) return (folded.match(asciiWord) ?? []).map(shortened);
  return piecesOf(folded).flatMap(({ text, isRun }) =>
    isRun ? [...pairsOf(text), lastOf(text)] : [shortened(text)],
  );
}

/** One word of a question. A run is found anywhere, any other word at the start of a word. */
export type Term = Pick<Piece, 'text' | 'isRun'>;

export function termsOf(question: string): readonly Term[] {
  const pieces = piecesOf(fold(question)).take(termsMax);
  return pieces.map(({ text, isRun }) => ({ text: shortened(text), isRun })).toArray();
}

/**
 * An index word of every text that matches all terms. `begins`: the word is only a prefix. A single
 * letter must match a whole word, since too many words begin with it.
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

/** Whether the text ends with a low surrogate. */
function isLow(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xdc00 && last <= 0xdfff;
}

function shortened(word: string): string {
  if (word.length <= wordCharactersMax) return word;
  const start = word.slice(0, wordCharactersMax);
  return start.isWellFormed() ? start : start.slice(0, -1);
}
