/** Of which bots of a messenger something is kept. */
import type { DatabaseSync } from 'node:sqlite';
import { channelKeyOf, type ChannelKey } from '../../../domain/ids.ts';

/** Tables with an index that begins with the channel: one look at each key. */
const ordered = ['turns', 'conversations', 'notes'] as const;
/** What is not settled, and dead letters: each has an index of its own. */
const open = ['inbox', 'outbox'].flatMap((table) =>
  [0, 2].map((state) => `SELECT channel FROM ${table} WHERE state = ${state}`),
);
const openKeys =
  `SELECT DISTINCT channel FROM (${open.join(' UNION ALL ')}) ` +
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
