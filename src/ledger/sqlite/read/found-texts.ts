/**
 * Searches messages by their words, newest first, in two merged lists. Turns come from the index.
 * The index is filled later, so the newest turns are checked one by one. Messages without a turn
 * (waiting, dead, or commands) are the second list.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { PageRequest, Page } from '../../../domain/page.ts';
import type { Excerpt, FoundText, FoundTexts, FoundRow } from '../../../domain/search.ts';
import { emptyPage, keyAfter, limitOf, nextOf } from '../../pages.ts';
import {
  commandIn,
  conversationRowOf,
  conversationsMax,
  looksAtTextsMax,
  textRowOf,
  pageOfIds,
  rangeOfIds,
  type TextRecord,
  type IdRange,
  type IdRecord,
} from '../../read/search.ts';
import { fieldsOf } from '../../read/stored-json.ts';
import { matchOf, keysOf, termsOf, type Term } from '../../search/words.ts';
import { channelsOfTurns, merge, readPage } from './read-page.ts';
import { timeOfId } from '../../../domain/ids.ts';

type Turn = Omit<TextRecord, 'message'> & {
  readonly place: number;
  readonly seq: number;
  readonly text: string;
  readonly reply: string | null;
};
type Message = Omit<TextRecord, 'message' | 'sender'> & {
  readonly seq: number;
  readonly body: string;
};
/** The place where each list continues: after a turn's place, and after a message. */
type Place = readonly [turn: number, at: number, seq: number];
type Candidate = { readonly at: number } & (
  | { readonly kind: 'turn'; readonly turn: Turn }
  | { readonly kind: 'message'; readonly message: Message }
);
type Placed = { readonly candidate: Candidate; readonly place: Place };

const maxKey = Number.MAX_SAFE_INTEGER;
const firstPlace: [number, number, number] = [maxKey, maxKey, maxKey];
const nothing: FoundTexts = { ...emptyPage, complete: true, indexedSince: null };

const turnSql =
  'SELECT place, channel, conversation, at, seq, sender, text, reply FROM turns WHERE';
const newTurns = `${turnSql} place > ? AND place < ? ORDER BY place DESC LIMIT ${looksAtTextsMax}`;
const oneTurn = `${turnSql} place = ?`;
const indexed =
  'SELECT rowid AS place FROM search WHERE search MATCH ? AND rowid > ? AND rowid < ? ' +
  'ORDER BY rowid DESC';
const selectIndexState =
  'SELECT low, high, (SELECT at FROM turns WHERE place > low ORDER BY place LIMIT 1) AS since, ' +
  `(SELECT count(*) FROM (SELECT 1 FROM turns WHERE place > high LIMIT ${looksAtTextsMax + 1})) ` +
  'AS unindexed, (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE state = 0 ' +
  `LIMIT ${looksAtTextsMax + 1})) AS waiting FROM search_state`;
const selectMessage = 'SELECT seq, channel, conversation, accepted_at AS at, body FROM';
const inOrder = '(accepted_at, seq) < (?, ?) ORDER BY accepted_at DESC, seq DESC';
const withoutTurns = [
  `${selectMessage} (SELECT * FROM inbox WHERE state = 0 ` +
    `ORDER BY seq DESC LIMIT ${looksAtTextsMax}) ` +
    `WHERE ${inOrder}`,
  `${selectMessage} inbox INDEXED BY inbox_dead_accepted WHERE state = 2 AND ${inOrder}`,
];
const commands =
  `${selectMessage} inbox INDEXED BY inbox_unusual ` +
  `WHERE outcome <> 'reply' AND outcome = 'command' AND ${inOrder}`;
const messageOf =
  'SELECT id, state, brain, outcome FROM inbox WHERE seq = ? AND channel = ? AND conversation = ?';
const hasTurn = 'SELECT 1 FROM turns WHERE channel = ? AND conversation = ? AND seq = ?';
const nextConversation =
  'SELECT min(conversation) AS conversation FROM turns WHERE channel = ? AND conversation ';
const lastAt = 'SELECT max(at) AS at FROM turns WHERE channel = ? AND conversation = ?';

export function findByWords(db: DatabaseSync, words: string, request: PageRequest): FoundTexts {
  const terms = termsOf(words);
  const after = keyAfter(request, firstPlace);
  const { low, high, since, unindexed, waiting } = db.prepare(selectIndexState).get() as Record<
    string,
    number
  >;
  if (after === null || (terms.length === 0 && after !== firstPlace)) return nothing;
  const command = commandIn(words);
  const limit = limitOf(request);
  const named = after === firstPlace ? conversationsNamed(db, words.trim()).slice(0, limit) : [];
  if (terms.length === 0) return { ...nothing, rows: named };
  const candidates =
    command === null
      ? withPlaces(after, [
          turnsOf(db, terms, after[0], { low: low!, high: high! }),
          messagesOf(db, after),
        ])
      : withPlaces(after, [commandsOf(db, after)]);
  const found = readPage(
    withMatches(db, candidates, terms, command),
    Math.max(1, limit - named.length),
    ({ row }) => row !== null,
    ({ place }) => place,
  );
  return {
    rows: [...named, ...found.rows.flatMap(({ row }) => row ?? [])],
    next: found.next === null ? null : nextOf(found.next),
    complete: low === 0 && Math.max(unindexed!, waiting!) <= looksAtTextsMax,
    indexedSince: low === 0 ? null : (since ?? null),
  };
}

function* turnsOf(
  db: DatabaseSync,
  terms: readonly Term[],
  before: number,
  { low, high }: { readonly low: number; readonly high: number },
): Generator<Candidate> {
  const candidateOf = (found: unknown): Candidate => {
    const one = found as Turn;
    return { kind: 'turn', at: one.at, turn: one };
  };
  for (const one of db.prepare(newTurns).iterate(high, before)) yield candidateOf(one);
  const wanted = keysOf(terms).map(({ word, begins }) => `"${word}"${begins ? '*' : ''}`);
  const turnAt = db.prepare(oneTurn);
  const places = db.prepare(indexed).iterate(wanted.join(' '), low, Math.min(before, high + 1));
  for (const { place } of places) {
    const one = turnAt.get(place!);
    if (one !== undefined) yield candidateOf(one);
  }
}

function messagesOf(db: DatabaseSync, after: Place): Iterable<Candidate> {
  return merge(
    [...withoutTurns, commands].map((sql) => readMessages(db, sql, after)),
    isNewer,
  );
}

function commandsOf(db: DatabaseSync, after: Place): Iterable<Candidate> {
  return readMessages(db, commands, after);
}

function* readMessages(db: DatabaseSync, sql: string, [, at, seq]: Place): Generator<Candidate> {
  for (const found of db.prepare(sql).iterate(at, seq)) {
    const one = found as unknown as Message;
    yield { kind: 'message', at: one.at, message: one };
  }
}

function isNewer(a: Candidate, b: Candidate): boolean {
  return a.at > b.at;
}

/** Adds to each candidate the place from which both lists continue after it. */
function* withPlaces(after: Place, lists: readonly Iterable<Candidate>[]): Generator<Placed> {
  let place = after;
  for (const candidate of merge(lists, isNewer)) {
    place =
      candidate.kind === 'turn'
        ? [candidate.turn.place, place[1], place[2]]
        : [place[0], candidate.at, candidate.message.seq];
    yield { candidate, place };
  }
}

type Matched = { readonly row: FoundText | null; readonly place: Place };

function* withMatches(
  db: DatabaseSync,
  candidates: Iterable<Placed>,
  terms: readonly Term[],
  command: string | null,
): Generator<Matched> {
  const statements = { message: db.prepare(messageOf), turn: db.prepare(hasTurn) };
  for (const { candidate, place } of candidates) {
    const spoken = candidate.kind === 'turn' ? candidate.turn : saidIn(candidate.message);
    const isWanted = command === null || spoken.text.toLowerCase().startsWith(command);
    const match = isWanted ? matchOf(spoken, terms) : null;
    const row = match === null ? null : rowOf(statements, candidate, spoken.sender, match.excerpt);
    yield { row, place };
  }
}

function saidIn({ body, conversation }: Message) {
  const { sender, text } = fieldsOf(body);
  const { id } = (sender ?? {}) as { readonly id?: unknown };
  return {
    conversation,
    text: typeof text === 'string' ? text : '',
    reply: null,
    sender: typeof id === 'string' ? id : null,
  };
}

type Statements = Record<'message' | 'turn', ReturnType<DatabaseSync['prepare']>>;

function rowOf(
  statements: Statements,
  candidate: Candidate,
  sender: string | null,
  excerpt: Excerpt | null,
): FoundText | null {
  const { channel, conversation, at, seq } =
    candidate.kind === 'turn' ? candidate.turn : candidate.message;
  // A message with a turn is already among the turns.
  const isTwice =
    candidate.kind === 'message' && statements.turn.get(channel, conversation, seq) !== undefined;
  if (isTwice) return null;
  const found = statements.message.get(seq, channel, conversation) as TextRecord['message'];
  return textRowOf({ channel, conversation, at, sender, message: found ?? null }, excerpt);
}

/** Finds conversations whose id begins with `start`, with one index search for each. */
function conversationsNamed(db: DatabaseSync, start: string): readonly FoundText[] {
  if (start === '') return [];
  const first = db.prepare(`${nextConversation} >= ?`);
  const next = db.prepare(`${nextConversation} > ?`);
  const last = db.prepare(lastAt);
  const rows: FoundText[] = [];
  for (const channel of channelsOfTurns(db)) {
    let found = first.get(channel, start)?.['conversation'];
    while (typeof found === 'string' && found.startsWith(start) && rows.length < conversationsMax) {
      const at = Number(last.get(channel, found)?.['at']);
      rows.push(conversationRowOf({ channel, conversation: found, at }));
      found = next.get(channel, found)?.['conversation'];
    }
  }
  return rows;
}

/** The search by the beginning of an id, among messages and replies. */
const inRange = 'id >= ? AND id < ?';
const replyInRange = 'outbox.id >= ? AND outbox.id < ?';
const selectMessagesById =
  "SELECT 'in' AS box, id, id AS messageId, channel, accepted_at AS at, state, brain, outcome " +
  `FROM inbox WHERE ${inRange} ORDER BY id DESC LIMIT ?`;
const selectReply =
  "SELECT 'out' AS box, outbox.id, message_id AS messageId, outbox.channel, created_at AS at, " +
  'outbox.state, brain, outcome FROM outbox LEFT JOIN inbox ON inbox.id = outbox.message_id';
const deadInRange = `outbox.state = 2 AND ${replyInRange}`;
const selectDeadReplies = `${selectReply} WHERE ${deadInRange} ORDER BY outbox.id DESC LIMIT ?`;
/** No index has the ids of replies, so those of the id's time are checked one by one. */
const repliesFrom =
  'SELECT seq, id FROM (SELECT seq, id, state FROM outbox WHERE seq >= ? ORDER BY seq LIMIT ?) ' +
  `WHERE state < 2 AND ${inRange} ORDER BY id DESC LIMIT ?`;
const oneReply = `${selectReply} WHERE outbox.seq = ?`;
const nextReply = 'SELECT seq, created_at AS at FROM outbox WHERE seq >= ? ORDER BY seq LIMIT 1';
const lastReply = 'SELECT max(seq) AS seq FROM outbox';

const looksMax = 5_000;
/** How long after its id is made a reply may be stored. */
const idLagMs = 60_000;

export function findByIds(
  db: DatabaseSync,
  beginning: string,
  request: PageRequest,
): Page<FoundRow> {
  const range = rangeOfIds(beginning, request);
  if (range === null) return emptyPage;
  const { from, before } = range;
  const most = limitOf(request) + 1;
  const found = [
    ...db.prepare(selectMessagesById).all(from, before, most),
    ...db.prepare(selectDeadReplies).all(from, before, most),
    ...repliesOf(db, range, most),
  ] as unknown as readonly IdRecord[];
  return pageOfIds(found, request);
}

function repliesOf(db: DatabaseSync, { from, before }: IdRange, most: number): readonly unknown[] {
  const first = firstSince(db, timeOfId(from.padEnd(10, '0')) - idLagMs);
  if (first === null) return [];
  const found = db.prepare(repliesFrom).all(first, looksMax, from, before, most);
  const one = db.prepare(oneReply);
  return found.map(({ seq }) => one.get(seq!));
}

/**
 * The number of the first reply made at `since` or later. Replies are stored in the order of their
 * making.
 */
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
