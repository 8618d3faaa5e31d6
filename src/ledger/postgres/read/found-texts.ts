/**
 * Finds messages by their words, newest id first. The index finds turns. Rows that are not indexed
 * yet, and messages without a turn, are read one after the other. Each of these lists ends after a
 * number of rows; a page ends where the first list ends.
 */
import { timeOfId } from '../../../domain/ids.ts';
import type { PageRequest } from '../../../domain/page.ts';
import type { FoundText, FoundTexts } from '../../../domain/search.ts';
import { emptyPage, keyAfter, limitOf, nextOf } from '../../pages.ts';
import {
  commandIn,
  conversationRowOf,
  conversationsMax,
  textRowOf,
  type TextRecord,
} from '../../read/search.ts';
import { textIn } from '../../read/stories.ts';
import { matchOf, keysOf, termsOf, wordRules, type Term } from '../../search/words.ts';
import { fromText, fromTextOrNull } from '../server/text.ts';
import { num, type Ask } from './lists.ts';

/** The most rows of a list without index that one page reads. */
const looksMax = 500;
/** With more hits the index is of no use, and the newest texts are read instead. */
const hitsMax = 2_000;
/** The most of these newest texts. */
const commonLooksMax = 20_000;
/** Sorts after every id, so a page begins with the newest. */
const beginning: [string] = ['~'];
const nothing: FoundTexts = { ...emptyPage, complete: true, indexedSince: null };

type State = {
  readonly rules: string;
  readonly since: string;
  readonly until: string;
  readonly walked: boolean;
};
const state = 'SELECT rules, since, until, walked FROM svc.search_state';

type Found = Omit<TextRecord, 'message'> & {
  readonly id: string;
  /** Null: the message was deleted. */
  readonly state: number | null;
  readonly brain: string | null;
  readonly outcome: string | null;
  /** The JSON body of a message without a turn. */
  readonly body: string | null;
  readonly text: string | null;
  readonly reply: string | null;
};
/** Found rows. `end`: the last id that was read; null: the whole list was read. */
type List = { readonly found: readonly Found[]; readonly end: string | null };

const turnOf =
  'message.id, message.channel, message.conversation, ' +
  `coalesce(turn.at, message.accepted_at)::bigint AS at, message.sender, message.body, ` +
  'turn.text, turn.reply';
const settledState = 'CASE WHEN message.failure IS NULL THEN 1 ELSE 2 END AS state';
/** One index lookup for each row, whatever the statistics say. */
const one = (table: string, which: string): string =>
  `LATERAL (SELECT * FROM svc.${table} WHERE ${which} LIMIT 1) AS ${table}`;
const turnOfMessage =
  'channel = message.channel AND conversation = message.conversation AND n = message.n';
const behind = (which: string): string =>
  `SELECT ${turnOf}, ${settledState}, message.brain, message.outcome ` +
  `FROM (SELECT * FROM svc.message WHERE ${which} AND id < $1 ORDER BY id DESC ` +
  `LIMIT ${looksMax}) AS message LEFT JOIN ${one('turn', turnOfMessage)} ON true ` +
  'ORDER BY message.id DESC';
const waiting =
  `SELECT id, channel, conversation, ${num('accepted_at', 'at')}, sender, body, NULL AS text, ` +
  'NULL AS reply, 0 AS state, NULL AS brain, NULL AS outcome FROM svc.inbox WHERE id < $1 ' +
  `ORDER BY id DESC LIMIT ${looksMax}`;
const unindexed = behind('id > $2');
const dead = behind('failure IS NOT NULL');
const commands = behind("outcome = 'command' AND outcome <> 'reply'");

/** `|| ''` hides the order of the ids from the planner, so that it uses the index of words. */
const rare =
  'SELECT message_id AS id FROM svc.search ' +
  `WHERE words @@ $1::tsquery AND message_id || '' < $2 LIMIT ${hitsMax + 1}`;
const common =
  'SELECT message_id AS id, words @@ $1::tsquery AS hit FROM (SELECT message_id, words ' +
  'FROM svc.search WHERE message_id < $2 ORDER BY message_id DESC ' +
  `LIMIT ${commonLooksMax}) AS newest ORDER BY message_id DESC`;
const sameTurn =
  'channel = search.channel AND conversation = search.conversation ' +
  'AND session = search.session AND n = search.n';
const indexed =
  `SELECT search.message_id AS id, turn.channel, turn.conversation, ${num('turn.at', 'at')}, ` +
  'turn.sender, NULL AS body, turn.text, turn.reply, message.brain, message.outcome, ' +
  `CASE WHEN message.id IS NOT NULL THEN ${settledState.replace(' AS state', '')} ` +
  'WHEN inbox.id IS NOT NULL THEN 0 END AS state ' +
  `FROM unnest($1::text[]) AS wanted(id) CROSS JOIN ${one('search', 'message_id = wanted.id')} ` +
  `CROSS JOIN ${one('turn', sameTurn)} ` +
  `LEFT JOIN ${one('message', 'id = wanted.id')} ON true ` +
  `LEFT JOIN ${one('inbox', 'id = wanted.id')} ON true`;

export async function findByWords(
  ask: Ask,
  words: string,
  asked: PageRequest,
): Promise<FoundTexts> {
  const after = keyAfter(asked, beginning)?.[0] ?? null;
  if (after === null) return nothing;
  const terms = termsOf(words);
  const limit = limitOf(asked);
  const named = after === '~' ? (await conversationsNamed(ask, words.trim())).slice(0, limit) : [];
  if (terms.length === 0) return { ...nothing, rows: named };
  const [at] = await ask<State>(state);
  const isMade = at !== undefined && at.rules === wordRules;
  const until = isMade ? at.until : '';
  const command = commandIn(words);
  const lists =
    command === null
      ? await Promise.all([
          listOf(ask, waiting, after),
          listOf(ask, unindexed, after, until),
          listOf(ask, dead, after),
          listOf(ask, commands, after),
          isMade ? searchIndex(ask, terms, after, limit) : { found: [], end: null },
        ])
      : [await listOf(ask, commands, after)];
  const isComplete = isMade && at.walked;
  return {
    ...pageOfTexts(lists, { terms, command, limit: Math.max(1, limit - named.length), named }),
    complete: isComplete,
    indexedSince: isComplete || !isMade ? null : timeOfId(at.since),
  };
}

type Wanted = {
  readonly terms: readonly Term[];
  readonly command: string | null;
  readonly limit: number;
  /** The rows before these. */
  readonly named: readonly FoundText[];
};

function pageOfTexts(lists: readonly List[], { terms, command, limit, named }: Wanted) {
  const ends = lists.flatMap(({ end }) => end ?? []);
  const horizon = ends.reduce((a, b) => (a > b ? a : b), '');
  const seen = new Map<string, FoundText>();
  const candidates = lists.flatMap(({ found }) => found).filter(({ id }) => id >= horizon);
  for (const found of candidates.sort((a, b) => (a.id < b.id ? 1 : -1))) {
    const row = seen.has(found.id) ? null : rowOf(found, terms, command);
    if (row === null) continue;
    // One more row shows that there is a next page.
    if (seen.size === limit) {
      return { rows: [...named, ...seen.values()], next: nextOf([[...seen.keys()].at(-1)!]) };
    }
    seen.set(found.id, row);
  }
  return { rows: [...named, ...seen.values()], next: horizon === '' ? null : nextOf([horizon]) };
}

function rowOf(found: Found, terms: readonly Term[], command: string | null): FoundText | null {
  const { id, at, state: knownState, brain, outcome } = found;
  const conversation = fromText(found.conversation);
  const sender = fromTextOrNull(found.sender);
  const text = found.text === null ? textIn(found.body ?? '') : fromText(found.text);
  const isAsked = command === null || (text ?? '').toLowerCase().startsWith(command);
  const said = { text, reply: fromTextOrNull(found.reply), sender, conversation };
  const match = isAsked ? matchOf(said, terms) : null;
  if (match === null) return null;
  const message =
    knownState === null ? null : { id, state: knownState, brain: fromTextOrNull(brain), outcome };
  return textRowOf({ channel: found.channel, conversation, at, sender, message }, match.excerpt);
}

async function listOf(ask: Ask, sql: string, ...values: readonly string[]): Promise<List> {
  const found = await ask<Found>(sql, ...values);
  return { found, end: found.length < looksMax ? null : found.at(-1)!.id };
}

async function searchIndex(
  ask: Ask,
  terms: readonly Term[],
  after: string,
  limit: number,
): Promise<List> {
  const wanted = keysOf(terms).map(({ word, begins }) => `'${word}'${begins ? ':*' : ''}`);
  const query = wanted.join(' & ');
  await ask('SET LOCAL enable_bitmapscan = on');
  const hits = await ask<{ readonly id: string }>(rare, query, after);
  await ask('SET LOCAL enable_bitmapscan = off');
  if (hits.length <= hitsMax) {
    const ids = hits.map(({ id }) => id).sort((a, b) => (a < b ? 1 : -1));
    const some = ids.slice(0, 2 * limit);
    const end = ids.length === some.length ? null : some.at(-1)!;
    return { found: await ask<Found>(indexed, some), end };
  }
  const newest = await ask<{ readonly id: string; readonly hit: boolean }>(common, query, after);
  const all = newest.filter(({ hit }) => hit).map(({ id }) => id);
  const some = all.slice(0, 2 * limit);
  const isCut = all.length > some.length;
  const looked = newest.length < commonLooksMax ? null : newest.at(-1)!.id;
  return { found: await ask<Found>(indexed, some), end: isCut ? some.at(-1)! : looked };
}

/** All channels, with one lookup in the key of `svc.lane` for each. */
const eachChannel =
  'WITH RECURSIVE keys AS (SELECT min(channel) AS channel FROM svc.lane UNION ALL ' +
  'SELECT (SELECT min(channel) FROM svc.lane WHERE channel > keys.channel) FROM keys ' +
  'WHERE keys.channel IS NOT NULL) SELECT channel FROM keys WHERE channel IS NOT NULL';
const named =
  'SELECT lane.channel, lane.conversation, turns.at::bigint AS at ' +
  `FROM (${eachChannel}) AS keys CROSS JOIN LATERAL (SELECT channel, conversation ` +
  'FROM svc.lane WHERE channel = keys.channel AND conversation >= $1 AND conversation < $2 ' +
  `ORDER BY conversation LIMIT ${conversationsMax}) AS lane CROSS JOIN LATERAL (` +
  'SELECT max(at) AS at FROM svc.turn WHERE channel = lane.channel ' +
  'AND conversation = lane.conversation) AS turns WHERE turns.at IS NOT NULL ' +
  `LIMIT ${conversationsMax}`;

async function conversationsNamed(ask: Ask, start: string): Promise<readonly FoundText[]> {
  if (start === '') return [];
  const found = await ask<{ channel: string; conversation: string; at: number }>(
    named,
    start,
    `${start}\u{10ffff}`,
  );
  return found.map((row) =>
    conversationRowOf({ ...row, conversation: fromText(row.conversation) }),
  );
}
