/**
 * Lists that are found by looking: what an index cannot tell is looked at row by row, for a limited
 * time. The page ends there, and the next one goes on from the last row looked at.
 */
import type { PageKey } from '../../pages.ts';
import type { DatabaseSync } from 'node:sqlite';
import { ConversationIdCipher, idCipherPlace } from '../../read/id-cipher.ts';
import { channelKeyOf, type ChannelKey } from '../../../domain/ids.ts';

/** A page looks at so many rows at most. */
export const looksMax = 10_000;
/** Rows with long texts take longer to look at; a page ends after this all the same, */
const looksMs = 50;
/** but not before so many rows: what an index finds is whole, however busy the machine is. */
const looksAlways = 500;

export type PageFound<Row> = {
  readonly rows: readonly Row[];
  /** Where the next page begins; null: there was nothing more to look at. */
  readonly next: PageKey | null;
};

/** @param candidates in the order of the list; they are let go before this returns */
export function readPage<Row>(
  candidates: Iterable<Row>,
  limit: number,
  matches: (row: Row) => boolean,
  placeOf: (row: Row) => PageKey,
): PageFound<Row> {
  const rows: Row[] = [];
  const endAt = performance.now() + looksMs;
  let looked = 0;
  for (const row of candidates) {
    if (matches(row)) {
      if (rows.length === limit) return { rows, next: placeOf(rows.at(-1)!) };
      rows.push(row);
    }
    looked++;
    const tooLong = looked > looksAlways && performance.now() > endAt;
    if (looked >= looksMax || tooLong) return { rows, next: placeOf(row) };
  }
  return { rows, next: null };
}

/**
 * Several lists as one; the list whose next row `comes` first is read on.
 * @param lists each in the same order; they are let go when the merged one is
 */
export function* merge<Row>(
  lists: readonly Iterable<Row>[],
  comes: (a: Row, b: Row) => boolean,
): Generator<Row> {
  const open = lists.map((list) => list[Symbol.iterator]());
  const heads = open.map((list) => list.next());
  try {
    for (;;) {
      let first = -1;
      for (const [at, head] of heads.entries()) {
        if (head.done === true) continue;
        const best = heads[first];
        if (best?.done !== false || comes(head.value, best.value)) first = at;
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

const secret = 'SELECT value FROM cursors WHERE channel = ? AND name = ?';

export function idCipherOf(db: DatabaseSync): ConversationIdCipher {
  const found = db.prepare(secret).get(idCipherPlace.channel, idCipherPlace.name);
  return new ConversationIdCipher(String(found!['value']));
}

// Of which bots of a messenger something is kept.

/** Tables with an index that begins with the channel: one look at each key. */
const ordered = ['turns', 'conversations', 'notes'] as const;
/** What is not settled, and dead letters: each has an index of its own. */
const channelKeysOpen = ['inbox', 'outbox'].flatMap((table) =>
  [0, 2].map((state) => `SELECT channel FROM ${table} WHERE state = ${state}`),
);
const openKeys =
  `SELECT DISTINCT channel FROM (${channelKeysOpen.join(' UNION ALL ')}) ` +
  'WHERE channel > ? AND channel < ?';

/** Every channel of which there are messages, in their order. */
export function channelsOfMessages(db: DatabaseSync): readonly ChannelKey[] {
  return channelsIn(db, 'inbox');
}

/** Every channel of which there are turns. */
export function channelsOfTurns(db: DatabaseSync): readonly ChannelKey[] {
  return channelsIn(db, 'turns');
}

/** One look at each. */
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

/** Between these two are the keys of all bots of a type. */
export function keysOf(type: string): readonly [after: string, before: string] {
  // The character behind the colon: no key of this type is greater.
  return [channelKeyOf(type, ''), `${type};`];
}

/** In their order. */
export function listChannelKeys(db: DatabaseSync, type: string): readonly ChannelKey[] {
  const [first, end] = keysOf(type);
  const keys = new Set(db.prepare(openKeys).all(first, end).map(channelOf));
  for (const table of ordered) {
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
