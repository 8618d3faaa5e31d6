/** The reader of the PostgreSQL backend. It never writes, and never waits for a writer. */
import { hourMs, minuteMs } from '../../../lib/durations.ts';
import type { Client } from 'pg';
import {
  readerOver,
  type ReadArguments,
  type ReadName,
  type ReadResult,
  type CursorReader,
} from '../../read/questions.ts';
import type { LedgerReader } from '../../ledger.ts';
import { PeopleConnection, type ReaderLimits } from './people-connection.ts';
import {
  listApprovals,
  showApproval,
  listDeliveries,
  listMessages,
  findDeadLetter,
  listDeadLetterReasons,
  listDeadLetters,
} from './messages.ts';
import { num, whole, placed, looksMax, idCipherOf, type Ask } from './lists.ts';
import { findByWords } from './found-texts.ts';
import type { AuditRow } from '../../../domain/audit.ts';
import { pageRowsMax, type Page, type PageRequest } from '../../../domain/page.ts';
import {
  emptyPage,
  keyAfter,
  limitOf,
  pageOf,
  nextOf,
  pageCharactersMax,
  type PageKey,
} from '../../pages.ts';
import {
  auditRowOf,
  storyOf,
  storyTextOf,
  originOf,
  linesOf,
  lineBodyCharacters,
  toolUseOf,
  toolUseTextOf,
  conversationOf,
  cutsMax,
  turnText,
  type AuditRecord,
  type MessageRecord,
  type ReplyRecord,
  type SaidRecord,
  type OriginRecord,
  type LineRecord,
  type ToolUseRecord,
  type SpokenTurn,
} from '../../read/stories.ts';
import { fromText, fromTextOrNull } from '../server/text.ts';
import {
  originsMax,
  type ConversationKey,
  type MessageLine,
  type MessageOrigin,
  type Story,
  type StoryText,
  type ConversationRow,
  type ConversationText,
  type TurnText,
  type MessageOwner,
} from '../../../domain/story.ts';
import { fieldsOf } from '../../read/stored-json.ts';
import { Rollup } from '../../../telemetry/figures/rollup.ts';
import {
  type FigureRow,
  type FiguresRequest,
  type KeptFigures,
} from '../../../telemetry/figures/figures.ts';
import type { FoundRow } from '../../../domain/search.ts';
import { pageOfIds, rangeOfIds, type IdRecord } from '../../read/search.ts';
import type { NotesOf, NoteText } from '../../../domain/note.ts';
import type { ToolUseRow, ToolUseText } from '../../../domain/tool-use.ts';
import type { CutReason } from '../../../domain/conversation.ts';
import { keysOf } from '../../../channels/registry.ts';
import type { ChannelKey, ModelName } from '../../../domain/ids.ts';
import type { ConversationIdCipher } from '../../read/id-cipher.ts';
import { sumOf } from '../../../domain/money.ts';
import type { SpendBy, SpendRow } from '../../../domain/spend.ts';
import { spendRowsMax } from '../../engine/spending.ts';
import type { ConversationCount } from '../../../domain/records.ts';

// The number of conversations and turns of each channel. No row holds a counter, since all turns
// would change that row. A read counts them by their key alone; if there are very many, it takes
// estimates from the statistics of the server.

/** The most turns that a read counts, which takes the server about 40 ms. */
const countedMax = 200_000;
/** The most channels of an answer with estimates. */
const channelsMax = 500;

const counts =
  `SELECT channel, ${num('count(*)', 'conversations')}, ${num('sum(turns)', 'turns')}, ` +
  `${num('max(last)', 'lastAt')} FROM (SELECT channel, conversation, count(*) AS turns, ` +
  'max(at) AS last FROM svc.turn GROUP BY channel, conversation) AS spoken ' +
  'GROUP BY channel ORDER BY channel';

/** @param most with more turns than this, the numbers are rounded estimates */
export async function listConversationCounts(
  ask: Ask,
  most: number = countedMax,
): Promise<readonly ConversationCount[]> {
  const turns = await estimate(ask, 'turn', null);
  return turns > most ? estimates(ask) : ask<ConversationCount>(counts);
}

const channels =
  'WITH RECURSIVE keys AS (SELECT min(channel) AS channel FROM svc.lane UNION ALL ' +
  'SELECT (SELECT min(channel) FROM svc.lane WHERE channel > keys.channel) FROM keys ' +
  'WHERE keys.channel IS NOT NULL) ' +
  `SELECT channel FROM keys WHERE channel IS NOT NULL LIMIT ${channelsMax}`;
/** Channels without a message among the newest ones have no last time here. */
const countsNewest =
  `SELECT channel, ${num('max(accepted_at)', 'lastAt')} FROM (SELECT channel, accepted_at ` +
  `FROM svc.message ORDER BY id DESC LIMIT ${looksMax}) AS newest GROUP BY channel`;

type Last = { readonly channel: ChannelKey; readonly lastAt: number };

async function estimates(ask: Ask): Promise<readonly ConversationCount[]> {
  const [found, lasts] = await Promise.all([
    ask<{ readonly channel: ChannelKey }>(channels),
    ask<Last>(countsNewest),
  ]);
  const lastOf = new Map(lasts.map(({ channel, lastAt }) => [channel, lastAt]));
  const channelCounts = await Promise.all(
    found.map(async ({ channel }) => {
      const [turns, queues] = await Promise.all([
        estimate(ask, 'turn', channel),
        estimate(ask, 'lane', channel),
      ]);
      const conversations = rounded(Math.min(turns, queues));
      return { channel, conversations, turns: rounded(turns), lastAt: lastOf.get(channel) ?? null };
    }),
  );
  return channelCounts.filter(({ turns }) => turns > 0);
}

type Plan = {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }];
};

/** The number of rows that the planner estimates. */
async function estimate(
  ask: Ask,
  table: 'turn' | 'lane',
  channel: ChannelKey | null,
): Promise<number> {
  const plan = `EXPLAIN (FORMAT JSON) SELECT FROM svc.${table}`;
  const [found] = await (channel === null
    ? ask<Plan>(plan)
    : ask<Plan>(`${plan} WHERE channel = $1`, channel));
  return found?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/** Two digits, so that nobody takes the estimate for a count. */
function rounded(estimated: number): number {
  return Number(estimated.toPrecision(2));
}

/** Exact: `numeric` has as many digits as it needs. */
const costOf = (input: string, output: string): string =>
  `sum(${input} * nullif(price_input, '')::numeric ` +
  `+ ${output} * nullif(price_output, '')::numeric) * 0.000001`;

function rowsBy(by: SpendBy): string {
  const [which, channel] =
    by === 'sender' ? ["channel <> ''", 'channel'] : ["channel = ''", 'NULL'];
  const costing = (name: string): string =>
    num(`coalesce(sum(${name}) FILTER (WHERE costs), 0)`, `costing_${name}`);
  const sums = ['calls', 'estimated_calls', 'input', 'output', 'open_input', 'open_output'];
  return (
    `SELECT ${by} AS key, ${channel} AS channel, min(day) AS "firstDay", max(day) AS "lastDay", ` +
    `${sums.map((name) => num(`sum(${name})`, name)).join(', ')}, ` +
    `${costing('input')}, ${costing('output')}, ` +
    `(${costOf('input', 'output')})::text AS cost, ` +
    `(${costOf('open_input', 'open_output')})::text AS "openCost" FROM svc.spend ` +
    `WHERE ${which} AND day >= $1 ` +
    'AND calls + input + output + open_input + open_output > 0 GROUP BY 1, 2 ' +
    `ORDER BY ${costOf('input', 'output')} DESC NULLS LAST, sum(input + output) DESC, 2, 1 ` +
    `LIMIT ${spendRowsMax}`
  );
}

type SpendFound = {
  readonly key: string;
  readonly channel: ChannelKey | null;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly calls: number;
  readonly estimated_calls: number;
  readonly input: number;
  readonly output: number;
  readonly costing_input: number;
  readonly costing_output: number;
  readonly open_input: number;
  readonly open_output: number;
  readonly cost: string | null;
  readonly openCost: string | null;
};

export async function readSpend(
  ask: Ask,
  by: SpendBy,
  since: string,
): Promise<readonly SpendRow[]> {
  const found = await ask<SpendFound>(rowsBy(by), since);
  return found.map(({ key, channel, firstDay, lastDay, calls, cost, openCost, ...sums }) => ({
    key: fromText(key),
    channel,
    firstDay,
    lastDay,
    calls,
    estimatedCalls: sums.estimated_calls,
    tokens: { input: sums.input, output: sums.output },
    costing: { input: sums.costing_input, output: sums.costing_output },
    open: { input: sums.open_input, output: sums.open_output },
    cost: cost === null ? null : sumOf(cost),
    openCost: openCost === null ? null : sumOf(openCost),
  }));
}

const cursor = 'SELECT value FROM svc.cursor WHERE channel = $1 AND name = $2';

/**
 * Reads cursors. `cursor` rejects with ReadFailed when the server does not answer.
 * @param connect as for the reader
 */
export function createPostgresCursors(connect: () => Promise<Client>): CursorReader {
  const people = new PeopleConnection(connect);
  return {
    cursor: (channel, name) =>
      people.read(async (ask) => {
        const [found] = await ask<{ readonly value: string }>(cursor, channel, name);
        return found === undefined ? null : fromText(found.value);
      }),
    [Symbol.dispose]: () => void people.close(),
  };
}

// The turns of a conversation or of one sender, oldest first.

/** `bytes`: the length of all texts of the page up to this row. */
type TurnRecord = SpokenTurn & {
  readonly n: number;
  readonly bytes: number;
};

const turnsLength = 'octet_length(text) + coalesce(octet_length(reply), 0)';

/** Reads rows until their texts fill a page. Reads at least two, to see if a page follows. */
function turnsBy(where: string, order: string, limit: string): string {
  const window = `OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  const measured =
    `SELECT *, sum(${turnsLength}) ${window} AS bytes, row_number() ${window} AS place ` +
    `FROM svc.turn WHERE ${where} ORDER BY ${order} LIMIT ${limit}`;
  return (
    `SELECT channel, conversation, session, ${num('n', 'n')}, message_id AS "messageId", ` +
    `${num('at', 'at')}, sender, text, reply, ${num('bytes', 'bytes')}, ` +
    '(SELECT model FROM svc.message AS one WHERE one.id = turns.message_id) AS model, ' +
    "(SELECT coalesce(trace, '') FROM svc.message AS one WHERE one.id = turns.message_id " +
    `AND outcome = 'by_hand') AS "handTrace" ` +
    `FROM (${measured}) AS turns ` +
    `WHERE place <= 2 OR bytes - (${turnsLength}) <= ${pageCharactersMax} ` +
    `ORDER BY turns.place`
  );
}

const turnsOfConversation = turnsBy(
  'channel = $1 AND conversation = $2 AND (session, n) > ($3, $4)',
  'session, n',
  '$5',
);
const turnsOfSender = turnsBy(
  'channel = $1 AND sender = $2 AND (at, message_id) > ($3, $4)',
  'at, message_id',
  '$5',
);

/** The place before every turn. */
const beforeAllTurns: [number, number] = [0, -1];
const beforeAny: [number, string] = [Number.MIN_SAFE_INTEGER, ''];

async function listTurns(
  ask: Ask,
  whose: MessageOwner,
  asked: PageRequest,
): Promise<Page<TurnText>> {
  const limit = limitOf(asked);
  if (whose.kind === 'sender') {
    const after = keyAfter(asked, beforeAny);
    if (after === null) return emptyPage;
    const { channel, sender } = whose;
    const values = [channel, sender, whole(after[0]), after[1], limit + 1] as const;
    const rows = await ask<TurnRecord>(turnsOfSender, ...values);
    return pageOfTurns(rows, limit, ({ at, messageId }) => [at, messageId ?? '']);
  }
  const after = keyAfter(asked, beforeAllTurns);
  if (after === null) return emptyPage;
  const { channel, conversation } = whose;
  const session = Math.min(sessionMax, Math.max(0, whole(after[0])));
  const n = whole(after[1]);
  const rows = await ask<TurnRecord>(
    turnsOfConversation,
    channel,
    conversation,
    session,
    n,
    limit + 1,
  );
  return pageOfTurns(rows, limit, (row) => [row.session, row.n]);
}

/** The greatest value of an integer column. */
const sessionMax = 2 ** 31 - 1;

function pageOfTurns(
  rows: readonly TurnRecord[],
  limit: number,
  placeOf: (row: TurnRecord) => PageKey,
): Page<TurnText> {
  const isFull = (rows.at(-1)?.bytes ?? 0) > pageCharactersMax;
  const shown = isFull ? Math.max(1, Math.min(limit, rows.length - 1)) : limit;
  return pageOf(rows, shown, placeOf, (row) => turnText(readableTurn(row)));
}

function readableTurn(row: TurnRecord): TurnRecord {
  const { sender, text, reply, model } = row;
  return {
    ...placed(row),
    sender: fromTextOrNull(sender),
    text: fromText(text),
    reply: fromTextOrNull(reply),
    model: fromTextOrNull(model) as ModelName | null,
  };
}

/** A conversation by its row in `svc.lane`. Lists have the order of the keys. */
type ConversationRecord = {
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
/** Reads the key alone, which includes the times. */
const spoken = `SELECT ${span}, max(session) AS session FROM svc.turn WHERE ${here}`;
const unsettled =
  `SELECT accepted_at AS at FROM svc.inbox WHERE ${here} ` +
  `UNION ALL SELECT created_at FROM svc.outbox WHERE ${here}`;
const waits = `SELECT ${span} FROM (${unsettled}) AS unsettled`;
/** A queue without any other row is no conversation any more. */
const isKept = '(turns.count > 0 OR waits.count > 0 OR lane.session IS NOT NULL)';
const summary =
  'lane.channel, lane.conversation, ' +
  `${num('turns.count', 'turns')}, ${num('turns.first', 'turnsFrom')}, ` +
  `${num('turns.last', 'turnsTo')}, turns.session AS "turnSession", lane.session, ` +
  `${num('lane.started_at', 'startedAt')}, ${num('lane.previous_at', 'previousAt')}, ` +
  `${num('waits.count', 'waiting')}, ${num('waits.first', 'waitsFrom')}, ` +
  num('waits.last', 'waitsTo');
const counted = `CROSS JOIN LATERAL (${spoken}) AS turns CROSS JOIN LATERAL (${waits}) AS waits`;
const queuesBehind =
  'SELECT *, row_number() OVER (ORDER BY channel, conversation) AS looked FROM ' +
  '(SELECT * FROM svc.lane ' +
  'WHERE (channel, conversation) > ($1, $2) ORDER BY channel, conversation ' +
  `LIMIT ${looksMax}) AS lane`;
const list =
  `SELECT ${summary}, looked::integer AS looked FROM (${queuesBehind}) AS lane ${counted} ` +
  `WHERE ${isKept} OR looked = ${looksMax} ORDER BY lane.channel, lane.conversation LIMIT $3`;
const one =
  `SELECT ${summary}, 1 AS looked FROM svc.lane AS lane ${counted} ` +
  `WHERE lane.channel = $1 AND lane.conversation = $2 AND ${isKept}`;

export async function listConversations(
  ask: Ask,
  asked: PageRequest,
): Promise<Page<ConversationRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, ['', '']);
  if (after === null) return emptyPage;
  const [channel, conversation] = after as [string, string];
  const rows: ConversationRow[] = [];
  const idCipher = await idCipherOf(ask);
  for (const kept of await ask<ConversationRecord>(list, channel, conversation, limit + 1)) {
    if (hasSomething(kept)) {
      if (rows.length === limit) return { rows, next: nextConversation(rows.at(-1)!) };
      rows.push(rowOf(idCipher, kept));
    }
    if (kept.looked === looksMax) return { rows, next: nextConversation(placed(kept)) };
  }
  return { rows, next: null };
}

function nextConversation(key: {
  readonly channel: string;
  readonly conversation: string;
}): string {
  return nextOf([key.channel, key.conversation]);
}

function hasSomething({ turns, waiting, session }: ConversationRecord): boolean {
  return turns > 0 || waiting > 0 || session !== null;
}

function rowOf(idCipher: ConversationIdCipher, kept: ConversationRecord): ConversationRow {
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
    ask<ConversationRecord>(one, channel, conversation),
    ask<Cut>(cuts, channel, conversation),
  ]);
  return kept === undefined ? null : { ...rowOf(idCipher, kept), cuts: made.toReversed() };
}

const ofName = '(channel = $1 OR (channel > $2 AND channel < $3))';
const privateIn = (table: string): string =>
  `SELECT 1 FROM svc.${table} WHERE channel = lane.channel ` +
  'AND conversation = lane.conversation AND private';
const privateCount =
  `SELECT count(*)::integer AS count FROM (SELECT 1 FROM svc.lane WHERE ${ofName} ` +
  `AND (EXISTS (${privateIn('turn')}) OR EXISTS (${privateIn('note')}) ` +
  `OR EXISTS (${privateIn('inbox')})) LIMIT 1000) AS private`;

export async function countPrivateConversations(ask: Ask, name: string): Promise<number> {
  const [found] = await ask<{ readonly count: number }>(privateCount, name, ...keysOf(name));
  return found?.count ?? 0;
}

/** Tables whose key begins with the channel: one lookup finds each channel. */
const keyTables = ['lane', 'inbox', 'outbox', 'message', 'sent', 'note'];
const keysIn = (table: string): string =>
  `(WITH RECURSIVE keys AS (SELECT min(channel) AS channel FROM svc.${table} ` +
  'WHERE channel > $1 AND channel < $2 UNION ALL ' +
  `SELECT (SELECT min(channel) FROM svc.${table} WHERE channel > keys.channel AND channel < $2) ` +
  'FROM keys WHERE keys.channel IS NOT NULL) SELECT channel FROM keys WHERE channel IS NOT NULL)';
const channelKeys = `${keyTables.map(keysIn).join(' UNION ')} ORDER BY channel`;

export async function listChannelKeys(ask: Ask, name: string): Promise<readonly ChannelKey[]> {
  const found = await ask<{ readonly channel: ChannelKey }>(channelKeys, ...keysOf(name));
  return found.map(({ channel }) => channel);
}

/** Notes of agents, and the audit of their tools. */
const noteColumns = `SELECT channel, conversation, ${num('at', 'at')}, text FROM svc.note`;
const newest = `ORDER BY seq DESC LIMIT ${pageRowsMax}`;
const notesOfBrain = `${noteColumns} WHERE brain = $1 ${newest}`;
const ofConversation = 'brain IS NULL AND channel = $1 AND conversation = $2';
const notesOfConversation = `${noteColumns} WHERE ${ofConversation} ${newest}`;

/** The notes of a scope, at most 100 unless another program wrote some; oldest first. */
async function listNotes(ask: Ask, of: NotesOf): Promise<readonly NoteText[]> {
  const rows = await (of.kind === 'brain'
    ? ask<NoteText>(notesOfBrain, of.brain)
    : ask<NoteText>(notesOfConversation, of.channel, of.conversation));
  return rows.map((row) => ({ ...placed(row), text: fromText(row.text) })).reverse();
}

/** The place before every row. */
const beforeAllUses: [number] = [Number.MAX_SAFE_INTEGER];

const columns =
  `${num('seq', 'seq')}, key, message_id AS "messageId", channel, conversation, ` +
  `${num('at', 'at')}, ms::numeric, tool, mode, rule, outcome, arguments, told`;
// Orders by the column itself, not by its alias: only the column has an index.
const usesBehind = 'WHERE seq < $1 ORDER BY tool_use.seq DESC LIMIT $2';
const toolUsesBehind = `SELECT ${columns} FROM svc.tool_use ${usesBehind}`;
const usesOf =
  `SELECT ${columns} FROM svc.tool_use WHERE message_id = $1 ` +
  `ORDER BY tool_use.seq LIMIT ${pageRowsMax}`;
const use = `SELECT ${columns} FROM svc.tool_use WHERE key = $1`;

async function listToolUses(ask: Ask, asked: PageRequest): Promise<Page<ToolUseRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, beforeAllUses);
  if (after === null) return emptyPage;
  const rows = await ask<ToolUseRecord>(toolUsesBehind, whole(after[0]), limit + 1);
  return pageOf(
    rows,
    limit,
    ({ seq }) => [seq],
    (row) => toolUseOf(readable(row)),
  );
}

async function findToolUse(ask: Ask, key: string): Promise<ToolUseText | null> {
  const [found] = await ask<ToolUseRecord>(use, key);
  return found === undefined ? null : toolUseTextOf(readable(found));
}

/** The tool uses of one message, in their order. */
async function listUsesOf(ask: Ask, messageId: string): Promise<readonly ToolUseRecord[]> {
  return (await ask<ToolUseRecord>(usesOf, messageId)).map(readable);
}

function readable(row: ToolUseRecord): ToolUseRecord {
  const key = fromText(row.key);
  const tool = fromText(row.tool);
  const rule = fromText(row.rule);
  const told = row.told === null ? null : fromText(row.told);
  return { ...placed(row), key, tool, rule, arguments: fromText(row.arguments), told };
}

/** One message with its history, and its texts. */
const head = `id, channel, ${num('accepted_at', 'acceptedAt')}, attempts AS "diedUnder"`;
const messageById =
  `SELECT ${head}, 0 AS state, NULL::bigint AS "settledAt", NULL AS failure, NULL AS trace ` +
  'FROM svc.inbox WHERE id = $1 UNION ALL ' +
  `SELECT ${head}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, settled_at::bigint, failure, ` +
  'trace FROM svc.message WHERE id = $1';
const replyHead =
  `id, seq, ${num('created_at', 'createdAt')}, attempts, late, ` +
  'possible_duplicate AS "possibleDuplicate", tries, failure';
const replies =
  `SELECT ${replyHead}, 0 AS state, ${num('due_at', 'dueAt')}, ` +
  'NULL::bigint AS "settledAt", NULL::numeric AS "tookMs" FROM svc.outbox WHERE message_id = $1 ' +
  `UNION ALL SELECT ${replyHead}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, NULL, ` +
  'settled_at, took_ms::numeric FROM svc.sent WHERE message_id = $1 ORDER BY seq, id';

async function findStory(ask: Ask, messageId: string): Promise<Story | null> {
  const [[record], rows] = await Promise.all([
    ask<MessageRecord & { readonly trace: string | null }>(messageById, messageId),
    ask<ReplyRecord>(replies, messageId),
  ]);
  return record === undefined ? null : storyOf(record, record.trace, rows);
}

const said =
  'SELECT channel, conversation, private, body, NULL AS unsent FROM svc.inbox WHERE id = $1 ' +
  'UNION ALL SELECT channel, conversation, private, body, unsent FROM svc.message WHERE id = $1';
const answeredIn = (table: string): string =>
  `SELECT id, seq, body FROM svc.${table} WHERE message_id = $1`;
const answered = `${answeredIn('outbox')} UNION ALL ${answeredIn('sent')} ORDER BY seq, id`;

async function findStoryText(ask: Ask, messageId: string): Promise<StoryText | null> {
  const [idCipher, [found], rows, uses] = await Promise.all([
    idCipherOf(ask),
    ask<SaidRecord>(said, messageId),
    ask<{ readonly id: string; readonly body: string }>(answered, messageId),
    listUsesOf(ask, messageId),
  ]);
  return found === undefined ? null : storyTextOf(idCipher, placed(found), rows, uses);
}

/**
 * Creates a reader. It works inside the service, beside it, and without a running service.
 * @param connect opens a connection; called for the first read, and again after a lost connection
 */
export function createPostgresReader(
  connect: () => Promise<Client>,
  limits: Partial<ReaderLimits> = {},
): LedgerReader {
  const people = new PeopleConnection(connect, limits);
  return readerOver(
    (question, asked) => people.read((ask) => questions[question](ask, ...asked)),
    () => people.close(),
  );
}

// The reads, by their names in the contract of the reader.

/** Finds messages and replies by the beginning of their ids, in the keys of four tables. */
const inRange = (table: string): string =>
  `${table}.id >= $1 AND ${table}.id < $2 ORDER BY ${table}.id DESC LIMIT $3`;
const deadOr = (state: number): string => `CASE WHEN it.failure IS NULL THEN ${state} ELSE 2 END`;
const message = (table: string, state: string, ended: string): string =>
  `SELECT 'in' AS box, it.id, it.id AS "messageId", it.channel, ${num('it.accepted_at', 'at')}, ` +
  `${state} AS state, ${ended} FROM svc.${table} AS it WHERE ${inRange('it')}`;
const replyInRange = (table: string, state: string): string =>
  `SELECT 'out' AS box, it.id, it.message_id AS "messageId", it.channel, ` +
  `${num('it.created_at', 'at')}, ${state} AS state, message.brain, message.outcome ` +
  `FROM svc.${table} AS it LEFT JOIN svc.message AS message ON message.id = it.message_id ` +
  `WHERE ${inRange('it')}`;
const sources = [
  message('inbox', '0', 'NULL AS brain, NULL AS outcome'),
  message('message', deadOr(1), 'it.brain, it.outcome'),
  replyInRange('outbox', '0'),
  replyInRange('sent', deadOr(1)),
];

async function findByIds(ask: Ask, beginning: string, asked: PageRequest): Promise<Page<FoundRow>> {
  const range = rangeOfIds(beginning, asked);
  if (range === null) return emptyPage;
  const most = limitOf(asked) + 1;
  const found = await Promise.all(
    sources.map((sql) => ask<IdRecord>(sql, range.from, range.before, most)),
  );
  const records = found.flat().map((row) => ({ ...row, brain: fromTextOrNull(row.brain) }));
  return pageOfIds(records, asked);
}

/** How many rows are read and added up at once; other work can run between. */
const pageRows = 100;

type Found = Pick<FigureRow, 'at' | 'run' | 'body'>;

const figuresBehind =
  `SELECT ${num('at', 'at')}, ${num('run', 'run')}, body FROM svc.figure ` +
  'WHERE length_ms = $1 AND (at, run) > ($2::bigint, $3::bigint) AND at < $4 ' +
  `ORDER BY figure.at, figure.run LIMIT ${pageRows}`;

/** The first figure of a length, by the index. */
const first = `SELECT ${num('min(at)', 'at')} FROM svc.figure WHERE length_ms = $1`;

const lastOwn =
  `SELECT ${num('max(at)', 'at')} FROM svc.figure ` +
  'WHERE length_ms = $1 AND at BETWEEN $2 AND $3 AND run = $4';

async function readFigures(ask: Ask, asked: FiguresRequest): Promise<KeptFigures> {
  const { lengthMs, from, until, own } = asked;
  const gathering = new Rollup(asked);
  let after = { at: from, run: -1 };
  for (;;) {
    const rows = await ask<Found>(figuresBehind, lengthMs, after.at, after.run, until);
    for (const row of rows) gathering.add(row);
    if (rows.length < pageRows) break;
    after = rows.at(-1)!;
  }
  const firstOf = async (length: number): Promise<number | null> =>
    (await ask<{ readonly at: number | null }>(first, length))[0]?.at ?? null;
  const mine = [own.first, own.last, own.run];
  const [found] = await ask<{ readonly at: number | null }>(lastOwn, minuteMs, ...mine);
  return gathering.told({
    first: { minute: await firstOf(minuteMs), hour: await firstOf(hourMs) },
    ownUntil: found?.at ?? null,
  });
}

/** Finds a conversation by its id in svc. @returns null when there is none */
async function findConversationKey(ask: Ask, id: string): Promise<ConversationKey | null> {
  const where = (await idCipherOf(ask)).keyOf(id);
  return where === null || (await findConversation(ask, where)) === null ? null : where;
}

/** A longer body is not read just for the name in it. */
const bodyBytesMax = 65_536;
const originIn = (table: string): string =>
  'SELECT id, channel, conversation, sender, ' +
  `CASE WHEN octet_length(body) <= ${bodyBytesMax} THEN body END AS body ` +
  `FROM svc.${table} WHERE id = ANY($1::text[])`;
const origins = `${originIn('inbox')} UNION ALL ${originIn('message')}`;

type OriginFields = OriginRecord & { readonly sender: string; readonly body: string | null };

async function listOrigins(
  ask: Ask,
  messageIds: readonly string[],
): Promise<readonly MessageOrigin[]> {
  const [idCipher, found] = await Promise.all([
    idCipherOf(ask),
    ask<OriginFields>(origins, messageIds.slice(0, originsMax)),
  ]);
  const byId = new Map(found.map((row) => [row.id, originOf(idCipher, recordOf(placed(row)))]));
  return messageIds.flatMap((id) => byId.get(id) ?? []);
}

function recordOf({ id, channel, conversation, sender, body }: OriginFields): OriginRecord {
  const storedSender = body === null ? { id: fromText(sender) } : fieldsOf(body)['sender'];
  return { id, channel, conversation, sender: JSON.stringify(storedSender ?? null) };
}

const lineIn = (table: string): string =>
  `SELECT id, private, left(body, ${lineBodyCharacters}) AS body FROM svc.${table} ` +
  'WHERE id = ANY($1::text[])';
const lines = `${lineIn('inbox')} UNION ALL ${lineIn('message')}`;

async function listLines(ask: Ask, messageIds: readonly string[]): Promise<readonly MessageLine[]> {
  const wanted = messageIds.slice(0, originsMax);
  return linesOf(wanted, await ask<LineRecord>(lines, wanted));
}

export const questions: {
  readonly [Q in ReadName]: (ask: Ask, ...asked: ReadArguments<Q>) => Promise<ReadResult<Q>>;
} = {
  story: findStory,
  storyText: findStoryText,
  deadLetters: listDeadLetters,
  deadLetterReasons: listDeadLetterReasons,
  deadLetter: findDeadLetter,
  conversations: listConversations,
  conversation: findConversation,
  conversationById: findConversationKey,
  origins: listOrigins,
  lines: listLines,
  channelKeys: listChannelKeys,
  privateConversations: countPrivateConversations,
  turns: listTurns,
  notes: listNotes,
  toolUses: listToolUses,
  toolUse: findToolUse,
  messages: listMessages,
  deliveries: listDeliveries,
  conversationCounts: listConversationCounts,
  audit: listAudit,
  figures: readFigures,
  approvals: listApprovals,
  approval: showApproval,
  spent: readSpend,
  foundIds: findByIds,
  foundTexts: findByWords,
};

/** A row of the audit of operators. */
type AuditFields = AuditRecord & { readonly seq: number };

/** The place before every row. */
const beforeAllAudit: [number] = [Number.MAX_SAFE_INTEGER];

const auditBehind =
  `SELECT ${num('seq', 'seq')}, ${num('at', 'at')}, action, target, status, reason ` +
  'FROM svc.audit WHERE seq < $1 ORDER BY audit.seq DESC LIMIT $2';

async function listAudit(ask: Ask, asked: PageRequest): Promise<Page<AuditRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, beforeAllAudit);
  if (after === null) return emptyPage;
  const rows = await ask<AuditFields>(auditBehind, whole(after[0]), limit + 1);
  return pageOf(
    rows,
    limit,
    ({ seq }) => [seq],
    ({ action, reason, ...row }) =>
      auditRowOf({ ...row, action: fromText(action), reason: fromTextOrNull(reason) }),
  );
}
