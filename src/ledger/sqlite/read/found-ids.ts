/** Messages and replies by how their ids begin. */
import type { DatabaseSync } from 'node:sqlite';
import { timeOfId } from '../../../domain/ids.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { FoundRow } from '../../../domain/search.ts';
import { emptyPage, limitOf } from '../../pages.ts';
import { pageOfIds, rangeOfIds, type IdRange, type IdRecord } from '../../read/search.ts';

const inRange = 'id >= ? AND id < ?';
const replyInRange = 'outbox.id >= ? AND outbox.id < ?';
const messages =
  "SELECT 'in' AS box, id, id AS messageId, channel, accepted_at AS at, state, brain, outcome " +
  `FROM inbox WHERE ${inRange} ORDER BY id DESC LIMIT ?`;
const reply =
  "SELECT 'out' AS box, outbox.id, message_id AS messageId, outbox.channel, created_at AS at, " +
  'outbox.state, brain, outcome FROM outbox LEFT JOIN inbox ON inbox.id = outbox.message_id';
const dead = `${reply} WHERE outbox.state = 2 AND ${replyInRange} ORDER BY outbox.id DESC LIMIT ?`;
/** No index has the ids of replies: they are looked at where those of that time stand. */
const repliesFrom =
  'SELECT seq, id FROM (SELECT seq, id, state FROM outbox WHERE seq >= ? ORDER BY seq LIMIT ?) ' +
  `WHERE state < 2 AND ${inRange} ORDER BY id DESC LIMIT ?`;
const oneReply = `${reply} WHERE outbox.seq = ?`;
const nextReply = 'SELECT seq, created_at AS at FROM outbox WHERE seq >= ? ORDER BY seq LIMIT 1';
const lastReply = 'SELECT max(seq) AS seq FROM outbox';

const looksMax = 5_000;
/** An id is made before its reply is written down. */
const apartMs = 60_000;

export function findByIds(db: DatabaseSync, beginning: string, asked: PageAsked): Page<FoundRow> {
  const range = rangeOfIds(beginning, asked);
  if (range === null) return emptyPage;
  const { from, before } = range;
  const most = limitOf(asked) + 1;
  const found = [
    ...db.prepare(messages).all(from, before, most),
    ...db.prepare(dead).all(from, before, most),
    ...repliesOf(db, range, most),
  ] as unknown as readonly IdRecord[];
  return pageOfIds(found, asked);
}

function repliesOf(db: DatabaseSync, { from, before }: IdRange, most: number): readonly unknown[] {
  const first = firstSince(db, timeOfId(from.padEnd(10, '0')) - apartMs);
  if (first === null) return [];
  const found = db.prepare(repliesFrom).all(first, looksMax, from, before, most);
  const one = db.prepare(oneReply);
  return found.map(({ seq }) => one.get(seq!));
}

/** They stand in the order in which they were made: the number of the first one since then. */
function firstSince(db: DatabaseSync, since: number): number | null {
  const next = db.prepare(nextReply);
  let from = 0;
  let to = Number(db.prepare(lastReply).get()?.['seq'] ?? -1);
  let first: number | null = null;
  while (from <= to) {
    const middle = Math.floor((from + to) / 2);
    const found = next.get(middle);
    if (found !== undefined && Number(found['at']) < since) from = Number(found['seq']) + 1;
    else {
      first = middle;
      to = middle - 1;
    }
  }
  return first;
}
