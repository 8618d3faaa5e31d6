/** Asks the service for what is looked for: while somebody writes, and the last question counts. */
import { useEffect, useState } from 'react';
import {
  idPrefixMin,
  type FoundRow,
  type FoundText,
  type FoundTexts,
} from '../../../src/domain/search.ts';
import type { Page } from '../../../src/domain/page.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';

/** So long nobody has written on. */
const pauseMs = 250;
const rowsShown = 20;
/** Where few match, a page may be empty: so many are asked for one after the other. */
const pagesAtOnce = 3;

export type Finding = {
  readonly isAsking: boolean;
  readonly ids: readonly FoundRow[];
  readonly texts: readonly FoundText[];
  /** What is not in the index yet is told; null: all is, or nobody asked. */
  readonly unfinished: Pick<FoundTexts, 'indexedSince'> | null;
  readonly refused: Refused | null;
  /** Looks for older ones; null: there are none. */
  readonly older: (() => void) | null;
};

type Found = Omit<Finding, 'isAsking' | 'older'> & {
  readonly of: string;
  readonly next: string | null;
};

const nothing = { ids: [], texts: [], unfinished: null, refused: null, next: null };

/** Whether it may be an id, or the beginning of one. */
export function isIdLike(words: string): boolean {
  return words.length >= idPrefixMin && /^[0-9a-z-]+$/i.test(words);
}

/** One letter is a word in a script without spaces alone. */
export function isEnough(words: string): boolean {
  return words.length > 1 || /[^\0-\x7f]/.test(words);
}

export function useFinding(search: string): Finding {
  const words = search.trim();
  const isOperator = useToken(({ token }) => token !== null);
  const [found, setFound] = useState<Found>({ ...nothing, of: '' });
  const [from, setFrom] = useState<Found | null>(null);
  // What an operator was shown is nobody's once they have signed out.
  const of = `${isOperator ? 'operator' : 'reader'} ${words}`;
  const before = from?.of === of ? from : null;
  useEffect(() => {
    if (words === '') return undefined;
    const over = new AbortController();
    const look = async (): Promise<void> => {
      const next = await lookFor(words, isOperator, before, over.signal);
      if (!over.signal.aborted) setFound({ ...next, of });
    };
    const timer = setTimeout(() => void look(), before === null ? pauseMs : 0);
    return () => {
      clearTimeout(timer);
      over.abort();
    };
  }, [words, isOperator, of, before]);
  const isKnown = found.of === of;
  const shown = isKnown ? found : { ...nothing, of };
  const isAsking = words !== '' && (!isKnown || (before !== null && before.next === found.next));
  const isMore = isKnown && found.next !== null && !isAsking;
  return { ...shown, isAsking, older: isMore ? () => setFrom(found) : null };
}

/** @param before the rows so far, where older ones are asked for */
async function lookFor(
  words: string,
  isOperator: boolean,
  before: Found | null,
  signal: AbortSignal,
): Promise<Omit<Found, 'of'>> {
  const [ids, texts] = await Promise.all([
    before === null && isIdLike(words) ? askIds(words, signal) : null,
    isOperator && isEnough(words) ? askTexts(words, before?.next ?? null, signal) : null,
  ]);
  const refused =
    ids?.kind === 'refused' ? ids : texts?.refused === undefined ? null : texts.refused;
  return {
    ids: ids?.kind === 'ok' ? ids.value.rows : (before?.ids ?? []),
    texts: [...(before?.texts ?? []), ...(texts?.rows ?? [])],
    unfinished: texts === null || texts.complete ? null : { indexedSince: texts.indexedSince },
    refused,
    next: texts?.next ?? null,
  };
}

function askIds(words: string, signal: AbortSignal) {
  const query = new URLSearchParams({ q: words, limit: String(rowsShown) });
  return ask<Page<FoundRow>>(`search?${query.toString()}`, { signal });
}

async function askTexts(words: string, after: string | null, signal: AbortSignal) {
  const rows: FoundText[] = [];
  let next = after;
  for (let page = 1; ; page++) {
    const query = new URLSearchParams({ q: words, limit: String(rowsShown) });
    if (next !== null) query.set('after', next);
    const answer = await ask<FoundTexts>(`search/texts?${query.toString()}`, { signal });
    if (answer.kind === 'refused') {
      return { rows, next: null, complete: true, indexedSince: null, refused: answer };
    }
    rows.push(...answer.value.rows);
    ({ next } = answer.value);
    if (next === null || rows.length > 0 || page === pagesAtOnce) {
      return { ...answer.value, rows, refused: null };
    }
  }
}
