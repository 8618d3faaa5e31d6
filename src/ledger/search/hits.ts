/** Where the words of a question stand in a text, and what is shown of it. */
import { excerptCharactersMax, type Excerpt, type Hit } from '../../domain/search.ts';
import { fold, piecesOf, type Term } from './words.ts';

/** What is looked at of one message. */
export type Said = {
  readonly text: string | null;
  readonly reply: string | null;
  readonly sender: string | null;
  readonly conversation: string;
};

/** So many hits are told of one excerpt. */
const hitsMax = 32;
/** So much is shown before the first hit. */
const leadCharacters = 50;

/**
 * @param terms at least one
 * @returns null where one of the terms stands nowhere; an excerpt of null: all stand in the ids
 */
export function matchOf(
  said: Said,
  terms: readonly Term[],
): { readonly excerpt: Excerpt | null } | null {
  const fields = [said.text, said.reply, said.sender, said.conversation];
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
 * A letter with its marks, a syllable of Hangul with all its parts, a narrow kana with its sign:
 * what becomes other characters stands for all of it.
 */
const letters = /[\s\S][\p{M}\u1160-\u11ff\uff9e\uff9f]*/gu;
const ascii = /^[\0-\x7f]*$/;

/** `placeOf` leads from a place in the folded text to the place in the text. */
function foldWithPlaces(text: string): {
  readonly folded: string;
  readonly placeOf: (at: number) => number;
} {
  if (ascii.test(text)) return { folded: fold(text), placeOf: (at) => at };
  const places: number[] = [];
  let folded = '';
  for (const { 0: letter, index } of text.matchAll(letters)) {
    folded += fold(letter);
    while (places.length < folded.length) places.push(index);
  }
  return { folded, placeOf: (at) => places[at] ?? text.length };
}

function excerptOf(text: string, hits: readonly Hit[]): Excerpt {
  const ordered = joined(hits.toSorted((a, b) => a.from - b.from));
  const first = ordered[0]!;
  const from = wordStart(text, Math.max(0, first.from - leadCharacters), first.from);
  const head = from > 0 ? '… ' : '';
  const room = excerptCharactersMax - head.length - 2;
  const to = text.length - from <= room ? text.length : wholeEnd(text, from + room);
  const shown = `${head}${text.slice(from, to)}${to < text.length ? ' …' : ''}`;
  const moved = ordered
    .filter((hit) => hit.from < to)
    .map((hit) => ({
      from: hit.from - from + head.length,
      to: Math.min(hit.to, to) - from + head.length,
    }));
  return { text: shown, hits: moved };
}

/** Without those that lie in one another. */
function joined(ordered: readonly Hit[]): readonly Hit[] {
  const apart: Hit[] = [];
  for (const hit of ordered) {
    const last = apart.at(-1);
    if (last === undefined || hit.from >= last.to) apart.push(hit);
    else if (hit.to > last.to) apart[apart.length - 1] = { from: last.from, to: hit.to };
  }
  return apart;
}

/** The first start of a word between the two places. */
function wordStart(text: string, from: number, before: number): number {
  if (from === 0) return 0;
  const space = text.slice(from, before).search(/\s/);
  return space === -1 ? wholeEnd(text, from) : from + space + 1;
}

/** No pair of surrogates is cut in two. */
function wholeEnd(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
