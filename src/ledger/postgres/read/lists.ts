/**
 * Lists of messages and replies, newest first; messages also oldest first. An id begins with its
 * time, so the primary key of a table has this order and needs no further index. A replayed dead
 * letter keeps its id, but its place is the time of the replay. A small index of the replayed rows
 * finds it.
 *
 * So a list merges streams: for each table its rows in the order of ids, and its replayed rows. A
 * condition without an index is tested row by row; a stream ends after `looksMax` rows.
 */
import { timeOfId, timeText } from '../../../domain/ids.ts';
import { nextOf, type PageKey } from '../../pages.ts';
import type { Page } from '../../../domain/page.ts';
import { fromText, toText } from '../server/text.ts';
import { ConversationIdCipher, idCipherPlace } from '../../read/id-cipher.ts';

/** The most rows that a stream reads. */
export const looksMax = 10_000;

/** The place of a row: when it came or was replayed, and its id. */
export type Place = readonly [at: number, id: string];

/** The place before every row: `~` sorts after every id. */
export const beginning: [number, string] = [Number.MAX_SAFE_INTEGER, '~'];
/** The same, where the oldest come first. */
export const beginningOldest: [number, string] = [0, ''];

/** Which rows come first, in SQL. */
type Direction = { readonly behind: '<' | '>'; readonly sort: 'DESC' | 'ASC' };

export const newestFirst: Direction = { behind: '<', sort: 'DESC' };
export const oldestFirst: Direction = { behind: '>', sort: 'ASC' };

/** A row. `again`: when it was replayed, or null. `looked`: its number among the rows read. */
export type StreamRow = {
  readonly id: string;
  readonly again: number | null;
  readonly looked: number;
};

/** A list of one table, as parts of SQL. */
export type Stream = {
  readonly table: string;
  /** The columns of the result. */
  readonly columns: string;
  /** A condition that an index finds; null: none. */
  readonly found: string | null;
  /** A condition that is tested row by row; null: none. */
  readonly fits: string | null;
  readonly direction: Direction;
};

/** The column for the time of a replay, and the conditions for replayed and other rows. */
export type ReplayColumn = { readonly column: string; readonly is: string; readonly isNot: string };

/** SQL for rows that were not replayed, after a place, and within a range of ids. */
export function originalRowsSql(
  { table, columns, found, fits, direction }: Stream,
  replay: ReplayColumn,
  values: Values,
  [at, id]: Place,
  within: { readonly from: string | null; readonly before: string | null },
  limit: number,
): string {
  const first = timeText(Math.max(0, Math.min(at, timeMax)));
  const { behind, sort } = direction;
  const where = [replay.isNot, `id ${behind} ${values.put(id > first ? id : first)}`];
  if (within.before !== null) where.push(`id < ${values.put(within.before)}`);
  if (within.from !== null) where.push(`id >= ${values.put(within.from)}`);
  if (found !== null) where.push(found);
  return streamOf(table, `${columns}, NULL::bigint AS again`, where, `id ${sort}`, fits, limit);
}

/** SQL for replayed rows after a place. */
export function replayedRowsSql(
  { table, columns, found, fits, direction: { behind, sort } }: Stream,
  replay: ReplayColumn,
  values: Values,
  [at, id]: Place,
  limit: number,
): string {
  const where = [
    replay.is,
    `(${replay.column}, id) ${behind} (${values.put(whole(at))}, ${values.put(id)})`,
  ];
  if (found !== null) where.push(found);
  const allColumns = `${columns}, ${replay.column}::bigint AS again`;
  return streamOf(table, allColumns, where, `${replay.column} ${sort}, id ${sort}`, fits, limit);
}

/** The result includes the last row read even if it does not fit: the page ends there. */
function streamOf(
  table: string,
  columns: string,
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
    `SELECT id, looked::integer AS looked, ${columns} FROM (${looked}) AS looked ${which}` +
    `ORDER BY ${order} LIMIT ${limit + 1}`
  );
}

/** The statement of a stream, with its values. */
export type Asked = { readonly text: string; readonly values: Values };

/**
 * Merges streams to one page.
 * @param matches whether a row belongs to the list: the last row read may not
 * @param readable returns a row with its texts unescaped
 * @param isNewestFirst false: the oldest come first, as the streams do
 * @returns the rows, and the place of the next page
 */
export async function listOf<Row extends StreamRow>(
  ask: Ask,
  streams: readonly Asked[],
  limit: number,
  matches: (row: Row) => boolean,
  readable: (row: Row) => Row,
  isNewestFirst = true,
): Promise<Page<Row>> {
  const results = await Promise.all(
    streams.map(({ text, values }) => ask<Row>(text, ...values.list)),
  );
  const rows: Row[] = [];
  const sign = isNewestFirst ? 1 : -1;
  const sorted = results.flat().map(readable);
  for (const row of sorted.sort((a, b) => sign * compareNewest(a, b))) {
    if (matches(row)) {
      if (rows.length === limit) return { rows, next: nextOf(placeOf(rows.at(-1)!)) };
      rows.push(row);
    }
    if (row.looked === looksMax) return { rows, next: nextOf(placeOf(row)) };
  }
  return { rows, next: null };
}

function placeOf({ id, again }: StreamRow): Place & PageKey {
  return [again ?? timeOfId(id), id];
}

function compareNewest(a: StreamRow, b: StreamRow): number {
  const [atOfA] = placeOf(a);
  const [atOfB] = placeOf(b);
  return atOfB - atOfA || (a.id < b.id ? 1 : -1);
}

/** The greatest time that an id can have. */
export const timeMax = 2 ** 50 - 1;

/** Conditions for a channel key, or for all channels of a registered name; null: no condition. */
export function onChannel(asked: string | null, values: Values): readonly string[] {
  if (asked === null) return [];
  const name = values.put(asked);
  const registered = "split_part(split_part(channel, ':', 1), '@', 1)";
  return [`(channel = ${name} OR ${registered} = ${name})`];
}

/** A value of a statement. */
type Value = number | string | null | readonly string[];

/**
 * Runs a statement within the transaction of a read; `$1` and following stand for the values. Texts
 * among the values are escaped as in the tables.
 */
export type Ask = <Row>(text: string, ...values: readonly Value[]) => Promise<readonly Row[]>;

/** A value as the client gets it. */
export function wireValue(value: Value): unknown {
  if (typeof value === 'string') return toText(value);
  return typeof value === 'object' && value !== null ? value.map(toText) : value;
}

/** Collects the values of a statement while its text is built. */
export class Values {
  readonly list: Value[] = [];

  /** Adds a value. @returns its placeholder, such as `$1` */
  put(value: Value): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/** SQL that reads a bigint column as a number. */
export function num(column: string, name: string): string {
  return `${column}::bigint AS "${name}"`;
}

/** Turns any number into an integer that fits a bigint. */
export function whole(value: number): number {
  const most = Number.MAX_SAFE_INTEGER;
  return Math.min(most, Math.max(-most, Math.ceil(value)));
}

/** The row with its channel and conversation unescaped. */
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
