/**
 * Pages of lists whose filter has no index: each row is checked, for a limited time. The page ends
 * there, and the next page continues from the last checked row.
 */
import type { PageKey } from '../../pages.ts';
import type { DatabaseSync } from 'node:sqlite';
import { ConversationIdCipher, idCipherPlace } from '../../read/id-cipher.ts';
import { keysOf } from '../../../channels/registry.ts';
import type { ChannelKey } from '../../../domain/ids.ts';

/** The most rows that one page checks. */
export const looksMax = 10_000;
/** How long a page may check rows, since rows with long texts are slow to read. */
const checkMs = 50;
/**
 * The rows that a page checks regardless of time, so that an index's result is whole on a busy
 * machine.
 */
const rowsAlwaysChecked = 500;

export type PageFound<Row> = {
  readonly rows: readonly Row[];
  /** The key where the next page begins; null: there are no more rows. */
  readonly next: PageKey | null;
};

/**
 * Reads one page.
 * @param candidates in the order of the list; released before this returns
 */
export function readPage<Row>(
  candidates: Iterable<Row>,
  limit: number,
  matches: (row: Row) => boolean,
  placeOf: (row: Row) => PageKey,
): PageFound<Row> {
  const rows: Row[] = [];
  const endAt = performance.now() + checkMs;
  let checked = 0;
  for (const row of candidates) {
    if (matches(row)) {
      if (rows.length === limit) return { rows, next: placeOf(rows.at(-1)!) };
      rows.push(row);
    }
    checked++;
    const tooLong = checked > rowsAlwaysChecked && performance.now() > endAt;
    if (checked >= looksMax || tooLong) return { rows, next: placeOf(row) };
  }
  return { rows, next: null };
}

/**
 * Merges several lists into one.
 * @param lists each in the same order; released with the merged list
 * @param comes whether the first row comes before the second
 */
export function* merge<Row>(
  lists: readonly Iterable<Row>[],
  comesBefore: (a: Row, b: Row) => boolean,
): Generator<Row> {
  const open = lists.map((list) => list[Symbol.iterator]());
  const heads = open.map((list) => list.next());
  try {
    for (;;) {
      let first = -1;
      for (const [at, head] of heads.entries()) {
        if (head.done === true) continue;
        const best = heads[first];
        if (best?.done !== false || comesBefore(head.value, best.value)) first = at;
      }
      const head = heads[first];
      if (head === undefined || head.done === true) return;
      yield head.value;
      heads[first] = open[first]!.next();
    }
  } finally {
    for (const list of open) list.return?.();
  }
}

const selectIdSecret = 'SELECT value FROM cursors WHERE channel = ? AND name = ?';

export function idCipherOf(db: DatabaseSync): ConversationIdCipher {
  const found = db.prepare(selectIdSecret).get(idCipherPlace.channel, idCipherPlace.name);
  return new ConversationIdCipher(String(found!['value']));
}

// The channels, that is the bots of a messenger, with stored data.

/** Tables with an index that begins with the channel: one search per key. */
const indexedTables = ['turns', 'conversations', 'notes'] as const;
/** Unsettled rows and dead letters: each has an index of its own. */
const selectOpenChannels = ['inbox', 'outbox'].flatMap((table) =>
  [0, 2].map((state) => `SELECT channel FROM ${table} WHERE state = ${state}`),
);
const openKeys =
  `SELECT DISTINCT channel FROM (${selectOpenChannels.join(' UNION ALL ')}) ` +
  'WHERE channel > ? AND channel < ?';

/** Every channel with messages, in order. */
export function channelsOfMessages(db: DatabaseSync): readonly ChannelKey[] {
  return channelsIn(db, 'inbox');
}

/** Every channel with turns, in order. */
export function channelsOfTurns(db: DatabaseSync): readonly ChannelKey[] {
  return channelsIn(db, 'turns');
}

/** Reads the channels of a table, with one search per channel. */
function channelsIn(db: DatabaseSync, table: 'inbox' | 'turns'): readonly ChannelKey[] {
  const next = db.prepare(`SELECT min(channel) AS channel FROM ${table} WHERE channel > ?`);
  const keys: ChannelKey[] = [];
  let key = channelOf(next.get(''));
  while (key !== null) {
    keys.push(key);
    key = channelOf(next.get(key));
  }
  return keys;
}

/** The channel keys of a registered name that have data, in order. */
export function listChannelKeys(db: DatabaseSync, name: string): readonly ChannelKey[] {
  const [first, end] = keysOf(name);
  const keys = new Set(db.prepare(openKeys).all(first, end).map(channelOf));
  for (const table of indexedTables) {
    const next = db.prepare(
      `SELECT min(channel) AS channel FROM ${table} WHERE channel > ? AND channel < ?`,
    );
    let key = channelOf(next.get(first, end));
    while (key !== null) {
      keys.add(key);
      key = channelOf(next.get(key, end));
    }
  }
  return [...keys].filter((key) => key !== null).sort();
}

function channelOf(row: Readonly<Record<string, unknown>> | undefined): ChannelKey | null {
  return (row?.['channel'] ?? null) as ChannelKey | null;
}
