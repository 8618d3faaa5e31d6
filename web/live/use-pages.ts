/** Reads a long list of the API page by page. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Page } from '../../src/domain/page.ts';
import { useKeptThing } from '../kit/entry.ts';
import { ask, type Answered, type Refused } from '../kit/api.ts';
import { useToken } from '../kit/token.ts';

const pageRows = 100;

export type Pages<Row> = {
  /** null before the first answer. The rows stay when a later request fails. */
  readonly rows: readonly Row[] | null;
  readonly refused: Refused | null;
  /** Reads one more page; null: there are no more. */
  readonly older: (() => void) | null;
  /** Reads the shown rows again. A call during a read starts another read after it. */
  readonly again: () => void;
};

type Known<Row> = {
  readonly of: string | null;
  readonly rows: readonly Row[] | null;
  readonly next: string | null;
  readonly refused: Refused | null;
};

/**
 * The rows of an API list, from its beginning to the last page that the person opened.
 * @param path below /api/v1/, with the query; null: no request
 */
export function usePages<Row>(path: string | null): Pages<Row> {
  const token = useToken((state) => state.token);
  const [known, setKnown] = useState<Known<Row>>(nothing);
  /** By path: the number of pages that the person has opened. */
  const seen = useKeptThing('pages', () => new Map<string, number>());
  const load = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (path === null) return undefined;
    const giveUp = new AbortController();
    let busy = false;
    let due = false;
    const read = async (): Promise<void> => {
      due = true;
      if (busy) return;
      busy = true;
      while (due) {
        due = false;
        const found = await readPages<Row>(path, seen.get(path) ?? 1, giveUp.signal);
        if (giveUp.signal.aborted) return;
        setKnown((before) => {
          const stays = found.refused !== null && before.of === path;
          return stays ? { ...before, refused: found.refused } : found;
        });
      }
      busy = false;
    };
    load.current = () => void read();
    void read();
    return () => giveUp.abort();
    // A new token starts again.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [path, token, seen]);
  const again = useCallback(() => load.current(), []);
  const older = useCallback(() => {
    if (path !== null) seen.set(path, (seen.get(path) ?? 1) + 1);
    load.current();
  }, [path, seen]);
  const { rows, next, refused } = known.of === path ? known : nothing;
  return { rows, refused, older: next === null ? null : older, again };
}

const nothing = { of: null, rows: null, next: null, refused: null };

async function readPages<Row>(
  path: string,
  pages: number,
  signal: AbortSignal,
): Promise<Known<Row>> {
  const rows: Row[] = [];
  let next: string | null = null;
  for (let page = 0; page < pages; page++) {
    const answer: Answered<Page<Row>> = await askPage<Row>(path, next, signal);
    if (answer.kind === 'refused') return { of: path, rows: null, next: null, refused: answer };
    rows.push(...answer.value.rows);
    ({ next } = answer.value);
    if (next === null) break;
  }
  return { of: path, rows, next, refused: null };
}

/** @param after null: from the beginning */
function askPage<Row>(
  path: string,
  after: string | null,
  signal: AbortSignal,
): Promise<Answered<Page<Row>>> {
  const place = { limit: String(pageRows), ...(after !== null && { after }) };
  const query = new URLSearchParams(place).toString();
  return ask<Page<Row>>(`${path}${path.includes('?') ? '&' : '?'}${query}`, { signal });
}
