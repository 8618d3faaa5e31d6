/** Lists that come in pages: prints one page, or reads all pages one after the other. */
import {
  isPlace,
  pageRowsMax,
  pageRowsUsual,
  type Page,
  type PageRequest,
} from '../../domain/page.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { exitCode, type Io } from '../cli.ts';
import { parseFlags, wholeNumber, wrongUsage, type Flags } from '../frame/flags.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { locateLedger, withReader, type LedgerLocation } from './access.ts';

/** Flags of every command that prints one page. */
export const pageFlags = {
  limit: { type: 'string' },
  after: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** The range of `--limit`, for the usage text of such a command. */
export const limitRange = `1 to ${pageRowsMax} (default: ${pageRowsUsual})`;

type List<ListPage> = {
  /** The command's name. */
  readonly name: string;
  /** @returns a sentence about a flag that does not fit the configuration; null: all of them do */
  readonly check?: (location: LedgerLocation) => string | null;
  readonly read: (reader: LedgerReader, asked: PageRequest) => Promise<ListPage>;
  /** Formats the page for a person. */
  readonly show: (found: ListPage, location: LedgerLocation) => string;
};

/**
 * Runs a command that prints one page of a list; `--json` prints the page as it was read.
 * @returns the exit code
 */
export async function runList<ListPage extends { readonly next: string | null }>(
  list: List<ListPage>,
  args: readonly string[],
  io: Io,
): Promise<number> {
  const parsed = parseFlags(args, pageFlags);
  if (parsed.kind === 'wrong') return wrongUsage(io, list.name, parsed.message);
  return printList(list, parsed.flags, io);
}

/** Like `runList`, for a command that has more flags and has parsed them. */
export async function printList<ListPage extends { readonly next: string | null }>(
  { name, check, read, show }: List<ListPage>,
  { limit, after, config, json }: Flags<typeof pageFlags>,
  io: Io,
): Promise<number> {
  const page = parsePage(limit, after);
  if (typeof page === 'string') return wrongUsage(io, name, page);
  const place = await locateLedger(config, io);
  if (typeof place === 'number') return place;
  const fault = check?.(place) ?? null;
  if (fault !== null) return wrongUsage(io, name, fault);
  return withReader(place, async (reader) => {
    const result = await read(reader, page);
    io.stdout.write(json ? `${plainJson(result, 2)}\n` : show(result, place));
    if (!json) reportMore(io, result.next);
    return exitCode.fine;
  });
}

/** @returns the page that `--limit` and `--after` ask for, or a sentence about what is wrong */
export function parsePage(limit: string | null, after: string | null): PageRequest | string {
  const rows = limit === null ? pageRowsUsual : wholeNumber(limit, 1, pageRowsMax);
  if (rows === null) return `--limit is a number from 1 to ${pageRowsMax}; "${limit}" is none.`;
  if (after !== null && !isPlace(after)) {
    return `--after is what the list before ended with; "${plainLine(after)}" is no such thing.`;
  }
  return { after, limit: rows };
}

/** Prints how to read the next page. */
export function reportMore({ stderr }: Io, next: string | null): void {
  if (next === null) return;
  const word = plainLine(next);
  const written = /^[\w.:-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
  stderr.write(`There is more: --after=${written}\n`);
}

/**
 * For a list whose pages may have fewer rows than asked for: reads on until there are enough rows,
 * or no more.
 * @param stop ends it early, with the rows so far
 */
export function fullPage<T>(
  read: (reader: LedgerReader, asked: PageRequest) => Promise<Page<T>>,
  stop: AbortSignal,
): (reader: LedgerReader, asked: PageRequest) => Promise<Page<T>> {
  return async (reader, asked) => {
    const rows: T[] = [];
    for (let { after } = asked; ;) {
      const page = await read(reader, { after, limit: asked.limit - rows.length });
      rows.push(...page.rows);
      after = page.next;
      if (after === null || rows.length >= asked.limit || stop.aborted)
        return { rows, next: after };
    }
  };
}

/** Every row of a list, page by page; ends early when `stop` aborts. */
export async function* allRows<T>(
  read: (page: PageRequest) => Promise<Page<T>>,
  stop: AbortSignal,
): AsyncGenerator<T> {
  let after: string | null = null;
  for (;;) {
    const { rows, next } = await read({ after, limit: pageRowsMax });
    yield* rows;
    if (next === null || stop.aborted) return;
    after = next;
  }
}
