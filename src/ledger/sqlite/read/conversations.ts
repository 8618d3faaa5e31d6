/** Reads conversations and their turns, by the index of turns, which includes their times. */
import type { DatabaseSync } from 'node:sqlite';
import type { CutReason } from '../../../domain/conversation.ts';
import type {
  ConversationKey,
  ConversationRow,
  ConversationText,
  TurnText,
  MessageOwner,
} from '../../../domain/story.ts';
import type { Page, PageRequest } from '../../../domain/page.ts';
import {
  conversationOf,
  cutsMax,
  turnText,
  type CutRecord,
  type SpokenRecord,
  type SpokenTurn,
  type WaitingRecord,
} from '../../read/stories.ts';
import type { ConversationIdCipher } from '../../read/id-cipher.ts';
import { keysOf } from '../../../channels/registry.ts';
import { idCipherOf } from './read-page.ts';
import {
  emptyPage,
  limitOf,
  pageCharactersMax,
  pageOf,
  keyAfter,
  type PageKey,
} from '../../pages.ts';

type Key = { readonly channel: string; readonly conversation: string };
type Waiting = Key & WaitingRecord;

/** One search per conversation: from its first turn straight to the first turn of the next. */
const nextSpoken =
  'SELECT channel, conversation FROM turns WHERE (channel, conversation) > (?, ?) ' +
  'ORDER BY channel, conversation LIMIT 1';
const cutKeys =
  'SELECT channel, conversation FROM conversations WHERE (channel, conversation) > (?, ?) ' +
  'ORDER BY channel, conversation LIMIT ?';
const unsettled =
  'SELECT channel, conversation, accepted_at AS at FROM inbox WHERE state = 0 ' +
  'UNION ALL SELECT channel, conversation, created_at FROM outbox WHERE state = 0';
const waitingCount =
  'SELECT channel, conversation, count(*) AS count, min(at) AS firstAt, max(at) AS lastAt ' +
  `FROM (${unsettled})`;
const waitingKeys =
  `${waitingCount} WHERE (channel, conversation) > (?, ?) ` +
  'GROUP BY channel, conversation ORDER BY channel, conversation LIMIT ?';
const ofConversation = 'channel = ? AND conversation = ?';
const waitingOf = `${waitingCount} WHERE ${ofConversation} GROUP BY channel, conversation`;
const spanOf =
  'SELECT count(*) AS turns, min(at) AS firstAt, max(at) AS lastAt, max(session) AS session ' +
  'FROM turns WHERE channel = ? AND conversation = ?';
const cutOf =
  'SELECT session, started_at AS firstAt, previous_at AS lastAt FROM conversations ' +
  'WHERE channel = ? AND conversation = ?';

export function listConversations(db: DatabaseSync, request: PageRequest): Page<ConversationRow> {
  const limit = limitOf(request);
  const after = keyAfter(request, ['', '']);
  if (after === null) return emptyPage;
  const [channel, conversation] = after as [string, string];
  const most = limit + 1;
  const waiting = db.prepare(waitingKeys).all(channel, conversation, most) as unknown as Waiting[];
  const cut = db.prepare(cutKeys).all(channel, conversation, most) as unknown as Key[];
  const keys = new Map<string, { key: Key; order: Buffer; waiting: Waiting | null }>();
  const add = (key: Key, waits: Waiting | null): void => {
    const text = `${key.channel} ${key.conversation}`;
    const known = keys.get(text)?.waiting ?? waits;
    keys.set(text, { key, order: orderOf(key), waiting: known });
  };
  for (const row of waiting) add(row, row);
  for (const row of cut) add(row, null);
  for (const row of spokenKeys(db, channel, conversation, most)) add(row, null);
  const rows = [...keys.values()].sort((a, b) => Buffer.compare(a.order, b.order)).slice(0, most);
  const placeOf = ({ key }: { key: Key }): PageKey => [key.channel, key.conversation];
  const idCipher = idCipherOf(db);
  return pageOf(rows, limit, placeOf, (row) => rowOf(db, idCipher, row.key, row.waiting));
}

/**
 * The sort key of a conversation: the database orders keys by their bytes. No channel holds a zero
 * byte.
 */
function orderOf({ channel, conversation }: Key): Buffer {
  return Buffer.from(`${channel}\0${conversation}`);
}

function spokenKeys(db: DatabaseSync, channel: string, conversation: string, most: number): Key[] {
  const next = db.prepare(nextSpoken);
  const keys: Key[] = [];
  let last: Key = { channel, conversation };
  while (keys.length < most) {
    const found = next.get(last.channel, last.conversation) as Key | undefined;
    if (found === undefined) break;
    keys.push((last = found));
  }
  return keys;
}

function rowOf(
  db: DatabaseSync,
  idCipher: ConversationIdCipher,
  key: Key,
  waiting: Waiting | null,
): ConversationRow {
  const where = [key.channel, key.conversation] as const;
  const spoken = db.prepare(spanOf).get(...where) as unknown as SpokenRecord;
  const cut = db.prepare(cutOf).get(...where) as CutRecord | undefined;
  return conversationOf(idCipher, key, spoken, cut ?? null, waiting);
}

const privateIn = (table: string): string =>
  `SELECT channel, conversation FROM ${table} ` +
  'WHERE (channel = ?1 OR (channel > ?2 AND channel < ?3)) AND (private = 1 OR ' +
  '(private IS NULL AND channel NOT IN (SELECT channel FROM public_before)))';
/** A full scan is faster than an index that leads to each row. */
const privateCount =
  `SELECT count(*) AS n FROM (${privateIn('turns NOT INDEXED')} UNION ${privateIn('notes')} ` +
  `UNION ${privateIn('inbox')} AND state = 0 LIMIT 1000)`;

export function countPrivateConversations(db: DatabaseSync, name: string): number {
  return Number(db.prepare(privateCount).get(name, ...keysOf(name))?.['n']);
}

export function findConversation(
  db: DatabaseSync,
  where: ConversationKey,
): ConversationText | null {
  const key = [where.channel, where.conversation] as const;
  const waiting = db.prepare(waitingOf).get(...key) as unknown as Waiting | undefined;
  const row = rowOf(db, idCipherOf(db), where, waiting ?? null);
  if (!Number.isFinite(row.firstAt)) return null;
  const cuts = db
    .prepare(
      'SELECT session, at, reason FROM cuts WHERE channel = ? AND conversation = ? ' +
        `ORDER BY session DESC LIMIT ${cutsMax}`,
    )
    .all(...key)
    .map((cut) => ({
      session: Number(cut['session']),
      at: Number(cut['at']),
      reason: cut['reason'] as CutReason,
    }));
  return { ...row, cuts: cuts.reverse() };
}

const turnColumns =
  'SELECT channel, conversation, session, seq, at, sender, text, reply, ' +
  '(SELECT id FROM inbox WHERE inbox.seq = turns.seq) AS messageId, ' +
  '(SELECT model FROM inbox WHERE inbox.seq = turns.seq) AS model, ' +
  "(SELECT coalesce((SELECT body FROM traces WHERE message_id = inbox.id), '') FROM inbox " +
  "WHERE inbox.seq = turns.seq AND outcome = 'by_hand') AS handTrace FROM turns";
const turnsOfConversation =
  `${turnColumns} WHERE ${ofConversation} AND (session, seq) > (?, ?) ` +
  'ORDER BY session, seq LIMIT ?';
/** Reads every turn: a question this rare does not deserve an index. */
const ofSender = 'channel = ? AND sender = ? AND (0, seq) > (?, ?)';
const turnsOfSender = `${turnColumns} NOT INDEXED WHERE ${ofSender} ORDER BY seq LIMIT ?`;

type TurnRecord = SpokenTurn & { readonly seq: number };

export function listTurns(
  db: DatabaseSync,
  whose: MessageOwner,
  request: PageRequest,
): Page<TurnText> {
  const limit = limitOf(request);
  const after = keyAfter(request, [0, -1]);
  if (after === null) return emptyPage;
  const [sql, name] =
    whose.kind === 'sender'
      ? [turnsOfSender, whose.sender]
      : [turnsOfConversation, whose.conversation];
  const found = db.prepare(sql).iterate(whose.channel, name, ...after, limit + 1);
  const rows: TurnRecord[] = [];
  let characters = 0;
  for (const record of found as Iterable<unknown> as Iterable<TurnRecord>) {
    rows.push(record);
    characters += record.text.length + (record.reply?.length ?? 0);
    if (characters > pageCharactersMax && rows.length > 1) break;
  }
  const shown = characters > pageCharactersMax ? Math.max(1, rows.length - 1) : limit;
  const placeOf = ({ session, seq }: TurnRecord): PageKey =>
    whose.kind === 'sender' ? [0, seq] : [session, seq];
  return pageOf(rows, shown, placeOf, turnText);
}
