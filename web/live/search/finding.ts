/** Searches through the service while a person types. Only the result of the last query counts. */
import { useEffect, useState } from 'react';
import {
  idPrefixMin,
  type FoundRow,
  type FoundText,
  type FoundTexts,
} from '../../../src/domain/search.ts';
import { messageIdIn } from '../../../src/domain/ids.ts';
import type { Page } from '../../../src/domain/page.ts';
import { ask, type Refused } from '../../kit/api.ts';
import { useToken } from '../../kit/token.ts';

/** The pause in typing before a search begins. */
const pauseMs = 250;
const rowsShown = 20;
/** With few matches a page may be empty, so this many are read in a row. */
const pagesAtOnce = 3;

export type Finding = {
  readonly isAsking: boolean;
  readonly ids: readonly FoundRow[];
  readonly texts: readonly FoundText[];
  /** The part that the index does not cover yet; null: it covers all, or there was no search. */
  readonly unfinished: Pick<FoundTexts, 'indexedSince'> | null;
  readonly refused: Refused | null;
  /** Searches older messages; null: there are none. */
  readonly older: (() => void) | null;
};

type Found = Omit<Finding, 'isAsking' | 'older'> & {
  readonly of: string;
  readonly next: string | null;
};

const nothing = { ids: [], texts: [], unfinished: null, refused: null, next: null };

/** Whether the text may be an id or its beginning. */
export function isIdLike(words: string): boolean {
  return words.length >= idPrefixMin && /^[0-9a-z-]+$/i.test(words);
}

/** One letter is a whole word only in a script without spaces. */
export function isEnough(words: string): boolean {
  return words.length > 1 || /[^\0-\x7f]/.test(words);
}

export function useFinding(search: string): Finding {
  const words = messageIdIn(search.trim());
  const isOperator = useToken(({ token }) => token !== null);
  const [found, setFound] = useState<Found>({ ...nothing, of: '' });
  const [from, setFrom] = useState<Found | null>(null);
  // Results for an operator are not shown to anybody after the sign-out.
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

/** @param before the rows so far, for a search of older ones */
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
