/** Lists that come in pages: which page was asked for, and all of them one after the other. */
import type { Page, PageAsked } from '../../domain/page.ts';
import type { Io } from '../cli.ts';
import { wholeNumber } from '../flags.ts';
import { plainLine } from '../plain-text.ts';

const limitMax = 500;

/** @returns what `--limit` and `--after` ask for, or a sentence about what is wrong */
export function askedPage(limit: string | null, after: string | null): PageAsked | string {
  const rows = limit === null ? 100 : wholeNumber(limit, 1, limitMax);
  if (rows === null) return `--limit is a number from 1 to ${limitMax}; "${limit}" is none.`;
  return { after, limit: rows };
}

/** Says where the list goes on, to who reads it. */
export function sayMore({ stderr }: Io, next: string | null): void {
  if (next === null) return;
  const word = plainLine(next);
  const written = /^[\w.:-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
  stderr.write(`There is more: --after=${written}\n`);
}

/** Every row of a list, page by page; ends early when `stop` aborts. */
export async function* allRows<T>(
  read: (page: PageAsked) => Promise<Page<T>>,
  stop: AbortSignal,
): AsyncGenerator<T> {
  let after: string | null = null;
  for (;;) {
    const { rows, next } = await read({ after, limit: limitMax });
    yield* rows;
    if (next === null || stop.aborted) return;
    after = next;
  }
}
