/**
 * Lists of what came or was made, newest first. An id begins with its time, so the key of a table
 * is such an order and needs no index of its own. What was dead and was put back keeps its id; it
 * has its place by the time of that, and is found by a small index of those rows alone.
 *
 * So a list is made of streams: of each table the rows as they came, and those that were put back.
 * What no index tells is looked at; a stream ends after so many looks.
 */
import { timeOfId, timeText } from '../../../domain/ids.ts';
import { nextOf, type PageKey } from '../../pages.ts';
import type { Page } from '../../../domain/page.ts';
import { fromText, toText } from '../server/text.ts';
import { ConversationIdCipher, idCipherPlace } from '../../read/id-cipher.ts';

/** A stream looks at so many rows at most. */
export const looksMax = 10_000;

/** When a row came, or was put back; and its id. */
export type Place = readonly [at: number, id: string];

/** Before every row: `~` comes behind every digit of an id. */
export const beginning: [number, string] = [Number.MAX_SAFE_INTEGER, '~'];

/** `again`: when it was put back; null: it never was. `looked`: how many rows were looked at. */
export type Looked = {
  readonly id: string;
  readonly again: number | null;
  readonly looked: number;
};

/** SQL, with the values put where they belong. */
export type Stream = {
  readonly table: string;
  /** What is told of a row. */
  readonly columns: string;
  /** What an index finds, beside the order; null: everything. */
  readonly found: string | null;
  /** What is looked at; null: everything fits. */
  readonly fits: string | null;
};

/** How a table names the time at which a row was put back, and tells those that were. */
export type Again = { readonly column: string; readonly is: string; readonly isNot: string };

/** The rows of a table as they came, behind a place and, where it is given, not before an id. */
export function asTheyCame(
  { table, columns, found, fits }: Stream,
  again: Again,
  values: Values,
  [at, id]: Place,
  within: { readonly from: string | null; readonly before: string | null },
  limit: number,
): string {
  const first = timeText(Math.max(0, Math.min(at, timeMax)));
  const bounds = [id > first ? id : first, ...(within.before === null ? [] : [within.before])];
  const before = bounds.reduce((a, b) => (a < b ? a : b));
  const where = [again.isNot, `id < ${values.put(before)}`];
  if (within.from !== null) where.push(`id >= ${values.put(within.from)}`);
  if (found !== null) where.push(found);
  return streamOf(table, `${columns}, NULL::bigint AS again`, where, 'id DESC', fits, limit);
}

/** Those of them that were put back. */
export function asTheyCameBack(
  { table, columns, found, fits }: Stream,
  again: Again,
  values: Values,
  [at, id]: Place,
  limit: number,
): string {
  const where = [again.is, `(${again.column}, id) < (${values.put(whole(at))}, ${values.put(id)})`];
  if (found !== null) where.push(found);
  const told = `${columns}, ${again.column}::bigint AS again`;
  return streamOf(table, told, where, `${again.column} DESC, id DESC`, fits, limit);
}

/** The last row that is looked at is told also where it does not fit: the page ends there. */
function streamOf(
  table: string,
  told: string,
  where: readonly string[],
  order: string,
  fits: string | null,
  limit: number,
): string {
  const rows = `SELECT * FROM svc.${table} WHERE ${where.join(' AND ')} ORDER BY ${order}`;
  const counted = `row_number() OVER (ORDER BY ${order}) AS looked`;
  const looked = `SELECT *, ${counted} FROM (${rows} LIMIT ${looksMax}) AS rows`;
  const which = fits === null ? '' : `WHERE ${fits} OR looked = ${looksMax} `;
  return (
    `SELECT id, looked::integer AS looked, ${told} FROM (${looked}) AS looked ${which}` +
    `ORDER BY ${order} LIMIT ${limit + 1}`
  );
}

/** A stream's statement with its values. */
export type Asked = { readonly text: string; readonly values: Values };

/**
 * @param matches whether a row is of the list: the last one looked at may not be
 * @param readable a row with its texts as they were before they were escaped
 * @returns rows and the place of the next page
 */
export async function listOf<Row extends Looked>(
  ask: Ask,
  streams: readonly Asked[],
  limit: number,
  matches: (row: Row) => boolean,
  readable: (row: Row) => Row,
): Promise<Page<Row>> {
  const found = await Promise.all(
    streams.map(({ text, values }) => ask<Row>(text, ...values.list)),
  );
  const rows: Row[] = [];
  for (const row of found.flat().map(readable).sort(newestFirst)) {
    if (matches(row)) {
      if (rows.length === limit) return { rows, next: nextOf(placeOf(rows.at(-1)!)) };
      rows.push(row);
    }
    if (row.looked === looksMax) return { rows, next: nextOf(placeOf(row)) };
  }
  return { rows, next: null };
}

function placeOf({ id, again }: Looked): Place & PageKey {
  return [again ?? timeOfId(id), id];
}

function newestFirst(a: Looked, b: Looked): number {
  const [[atOfA], [atOfB]] = [placeOf(a), placeOf(b)];
  return atOfB - atOfA || (a.id < b.id ? 1 : -1);
}

/** The greatest time that an id holds. */
export const timeMax = 2 ** 50 - 1;

/** Whether it is of a channel that is asked for, by its key or by its type; null: of any. */
export function onChannel(asked: string | null, values: Values): readonly string[] {
  if (asked === null) return [];
  const name = values.put(asked);
  return [`(channel = ${name} OR split_part(channel, ':', 1) = ${name})`];
}

/** Asking the server within the one transaction of a read. */
type Value = number | string | null | readonly string[];

/**
 * Runs a statement; `$1` and so on stand for the values. Texts among these are escaped on their
 * way, as plain columns are.
 */
export type Ask = <Row>(text: string, ...values: readonly Value[]) => Promise<readonly Row[]>;

/** What the client is given for a value. */
export function wireValue(value: Value): unknown {
  if (typeof value === 'string') return toText(value);
  return typeof value === 'object' && value !== null ? value.map(toText) : value;
}

/** The values of one statement, gathered as its text is put together. */
export class Values {
  readonly list: Value[] = [];

  /** @returns what stands for it in the text */
  put(value: Value): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/** A bigint column as a number of ours. */
export function num(column: string, name: string): string {
  return `${column}::bigint AS "${name}"`;
}

/** A whole number that a bigint holds, of what may be any number. */
export function whole(value: number): number {
  const most = Number.MAX_SAFE_INTEGER;
  return Math.min(most, Math.max(-most, Math.ceil(value)));
}

/** The row with its channel and its conversation as they were before they were escaped. */
export function placed<Row extends { readonly channel: string; readonly conversation: string }>(
  row: Row,
): Row {
  return { ...row, conversation: fromText(row.conversation) };
}

const secret = 'SELECT value FROM svc.cursor WHERE channel = $1 AND name = $2';

export async function idCipherOf(ask: Ask): Promise<ConversationIdCipher> {
  const { channel, name } = idCipherPlace;
  const [found] = await ask<{ readonly value: string }>(secret, channel, name);
  return new ConversationIdCipher(found!.value);
}
