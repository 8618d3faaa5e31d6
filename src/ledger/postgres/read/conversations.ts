/** Conversations: each has its lane, in the order of their keys. */
import type { CutReason } from '../../../domain/conversation.ts';
import { channelKeyOf, type ChannelKey } from '../../../domain/ids.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { ConversationKey, ConversationRow, ConversationText } from '../../../domain/story.ts';
import { emptyPage, keyAfter, limitOf, nextOf } from '../../pages.ts';
import { conversationOf, cutsMax } from '../../read/conversations.ts';
import type { ConversationIdCipher } from '../../read/id-cipher.ts';
import { num, placed, type Ask } from './ask.ts';
import { idCipherOf } from './id-cipher.ts';
import { looksMax } from './lists.ts';

type Kept = {
  readonly channel: string;
  readonly conversation: string;
  readonly looked: number;
  readonly turns: number;
  readonly turnsFrom: number;
  readonly turnsTo: number;
  readonly turnSession: number | null;
  readonly session: number | null;
  readonly startedAt: number;
  readonly previousAt: number;
  readonly waiting: number;
  readonly waitsFrom: number;
  readonly waitsTo: number;
};

const here = 'channel = lane.channel AND conversation = lane.conversation';
const span = 'count(*) AS count, min(at) AS first, max(at) AS last';
/** Of the key alone, which holds the times, too. */
const spoken = `SELECT ${span}, max(session) AS session FROM svc.turn WHERE ${here}`;
const unsettled =
  `SELECT accepted_at AS at FROM svc.inbox WHERE ${here} ` +
  `UNION ALL SELECT created_at FROM svc.outbox WHERE ${here}`;
const waits = `SELECT ${span} FROM (${unsettled}) AS unsettled`;
/** A lane of which nothing is kept is no conversation any more. */
const isKept = '(turns.count > 0 OR waits.count > 0 OR lane.session IS NOT NULL)';
const columns =
  'lane.channel, lane.conversation, ' +
  `${num('turns.count', 'turns')}, ${num('turns.first', 'turnsFrom')}, ` +
  `${num('turns.last', 'turnsTo')}, turns.session AS "turnSession", lane.session, ` +
  `${num('lane.started_at', 'startedAt')}, ${num('lane.previous_at', 'previousAt')}, ` +
  `${num('waits.count', 'waiting')}, ${num('waits.first', 'waitsFrom')}, ` +
  num('waits.last', 'waitsTo');
const beside = `CROSS JOIN LATERAL (${spoken}) AS turns CROSS JOIN LATERAL (${waits}) AS waits`;
const queues =
  'SELECT *, row_number() OVER (ORDER BY channel, conversation) AS looked FROM ' +
  '(SELECT * FROM svc.lane ' +
  'WHERE (channel, conversation) > ($1, $2) ORDER BY channel, conversation ' +
  `LIMIT ${looksMax}) AS lane`;
const list =
  `SELECT ${columns}, looked::integer AS looked FROM (${queues}) AS lane ${beside} ` +
  `WHERE ${isKept} OR looked = ${looksMax} ORDER BY lane.channel, lane.conversation LIMIT $3`;
const one =
  `SELECT ${columns}, 1 AS looked FROM svc.lane AS lane ${beside} ` +
  `WHERE lane.channel = $1 AND lane.conversation = $2 AND ${isKept}`;

export async function listConversations(
  ask: Ask,
  asked: PageAsked,
): Promise<Page<ConversationRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, ['', '']);
  if (after === null) return emptyPage;
  const [channel, conversation] = after as [string, string];
  const rows: ConversationRow[] = [];
  const idCipher = await idCipherOf(ask);
  for (const kept of await ask<Kept>(list, channel, conversation, limit + 1)) {
    if (hasSomething(kept)) {
      if (rows.length === limit) return { rows, next: placeOf(rows.at(-1)!) };
      rows.push(rowOf(idCipher, kept));
    }
    if (kept.looked === looksMax) return { rows, next: placeOf(placed(kept)) };
  }
  return { rows, next: null };
}

function placeOf(key: { readonly channel: string; readonly conversation: string }): string {
  return nextOf([key.channel, key.conversation]);
}

function hasSomething({ turns, waiting, session }: Kept): boolean {
  return turns > 0 || waiting > 0 || session !== null;
}

function rowOf(idCipher: ConversationIdCipher, kept: Kept): ConversationRow {
  const { turns, session, waiting: count } = kept;
  const { startedAt, previousAt, waitsFrom, waitsTo, turnsFrom, turnsTo } = kept;
  return conversationOf(
    idCipher,
    placed(kept),
    { turns, session: kept.turnSession, firstAt: turnsFrom, lastAt: turnsTo },
    session === null ? null : { session, firstAt: startedAt, lastAt: previousAt },
    count === 0 ? null : { count, firstAt: waitsFrom, lastAt: waitsTo },
  );
}

const cuts =
  `SELECT session, ${num('at', 'at')}, reason FROM svc.cut ` +
  `WHERE channel = $1 AND conversation = $2 ORDER BY session DESC LIMIT ${cutsMax}`;

type Cut = { readonly session: number; readonly at: number; readonly reason: CutReason };

export async function findConversation(
  ask: Ask,
  { channel, conversation }: ConversationKey,
): Promise<ConversationText | null> {
  const [idCipher, [kept], made] = await Promise.all([
    idCipherOf(ask),
    ask<Kept>(one, channel, conversation),
    ask<Cut>(cuts, channel, conversation),
  ]);
  return kept === undefined ? null : { ...rowOf(idCipher, kept), cuts: made.toReversed() };
}

const ofType = '(channel = $1 OR (channel > $2 AND channel < $3))';
const privateIn = (table: string): string =>
  `SELECT 1 FROM svc.${table} WHERE channel = lane.channel ` +
  'AND conversation = lane.conversation AND private';
const privateCount =
  `SELECT count(*)::integer AS count FROM (SELECT 1 FROM svc.lane WHERE ${ofType} ` +
  `AND (EXISTS (${privateIn('turn')}) OR EXISTS (${privateIn('note')}) ` +
  `OR EXISTS (${privateIn('inbox')})) LIMIT 1000) AS private`;

export async function countPrivateConversations(ask: Ask, type: string): Promise<number> {
  const [found] = await ask<{ readonly count: number }>(privateCount, type, ...keysOf(type));
  return found?.count ?? 0;
}

/** Between these two are the keys of all bots of a type. */
export function keysOf(type: string): readonly [after: string, before: string] {
  // The character behind the colon: no key of this type is greater.
  return [channelKeyOf(type, ''), `${type};`];
}

/** Of each table that begins with the channel: one look at each key. */
const keyTables = ['lane', 'inbox', 'outbox', 'message', 'sent', 'note'];
const keysIn = (table: string): string =>
  `(WITH RECURSIVE keys AS (SELECT min(channel) AS channel FROM svc.${table} ` +
  'WHERE channel > $1 AND channel < $2 UNION ALL ' +
  `SELECT (SELECT min(channel) FROM svc.${table} WHERE channel > keys.channel AND channel < $2) ` +
  'FROM keys WHERE keys.channel IS NOT NULL) SELECT channel FROM keys WHERE channel IS NOT NULL)';
const channelKeys = `${keyTables.map(keysIn).join(' UNION ')} ORDER BY channel`;

export async function listChannelKeys(ask: Ask, type: string): Promise<readonly ChannelKey[]> {
  const found = await ask<{ readonly channel: ChannelKey }>(channelKeys, ...keysOf(type));
  return found.map(({ channel }) => channel);
}
