/** All reads of a database, by their names in the reader's contract. */
import { hourMs, minuteMs } from '../../../lib/durations.ts';
import { apologies } from '../../../domain/decision.ts';
import type { DatabaseSync } from 'node:sqlite';
import type { ReadArguments, ReadName, ReadResult } from '../../read/questions.ts';
import {
  listChannelKeys,
  channelsOfMessages,
  idCipherOf,
  readPage,
  looksMax,
  merge,
} from './read-page.ts';
import {
  countPrivateConversations,
  findConversation,
  listConversations,
  listTurns,
} from './conversations.ts';
import { findByIds, findByWords } from './found-texts.ts';
import type { AuditRow } from '../../../domain/audit.ts';
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import { pageRowsMax, type Page, type PageRequest } from '../../../domain/page.ts';
import {
  isOnChannel,
  type ConversationCount,
  type DeliveryFilter,
  type DeliveryRow,
  type MessageFilter,
  type MessagePage,
  type MessageRow,
} from '../../../domain/records.ts';
import {
  emptyPage,
  limitOf,
  pageOf,
  keyAfter,
  nextOf,
  countReasons,
  type PageKey,
} from '../../pages.ts';
import {
  auditRowOf,
  deliveryOf,
  fitsDelivery,
  storyOf,
  storyTextOf,
  originOf,
  linesOf,
  lineBodyCharacters,
  toolUseOf,
  toolUseTextOf,
  fitsMessage,
  messageRowOf,
  letterOf,
  letterTextOf,
  type AuditRecord,
  type DeliveryRecord,
  type MessageRecord,
  type ReplyRecord,
  type SaidRecord,
  type OriginRecord,
  type LineRecord,
  type ToolUseRecord,
  type MessageSummary,
  type ReplySummary,
  type DeadRecord,
} from '../../read/stories.ts';
import {
  originsMax,
  type ConversationKey,
  type MessageLine,
  type MessageOrigin,
  type Story,
  type StoryText,
  type DeadLetter,
  type DeadLetterReason,
  type DeadLetterText,
} from '../../../domain/story.ts';
import { Rollup } from '../../../telemetry/figures/rollup.ts';
import {
  type FigureRow,
  type FiguresRequest,
  type KeptFigures,
} from '../../../telemetry/figures/figures.ts';
import type { SpendBy, SpendRow } from '../../../domain/spend.ts';
import { priceOf, spendRows, type SpendGroup } from '../../engine/spending.ts';
import type { NotesOf, NoteText } from '../../../domain/note.ts';
import type { ToolUseRow, ToolUseText } from '../../../domain/tool-use.ts';
import {
  approvalCodeOf,
  approvalRowOf,
  approvalTextOf,
  type Approval,
  type ApprovalRow,
  type ApprovalState,
  type ApprovalText,
} from '../../../domain/approval.ts';
import {
  approvalFrom,
  approvalsOwedMax,
  approvalsWaitingMax,
  type ApprovalRecord,
} from '../../engine/approvals.ts';
import type { Box } from '../../../domain/event.ts';
import { wholeIdLength } from '../../engine/queue.ts';
import { reasonOf } from '../../read/stored-json.ts';

/**
 * A row of dead letters: messages and replies that are not tried again. The newest come first, in
 * the order of (time of death, `seq`). `seq` counts over both boxes, so no two rows share a place.
 * The parts of a split reply are one letter, at the place of the part that died last.
 */
type DeadRow = DeadRecord & { readonly seq: number };

const selectDeadMessages =
  "SELECT 'in' AS box, seq, id, channel, conversation, id AS messageId, " +
  'accepted_at AS acceptedAt, settled_at AS diedAt, attempts, NULL AS tries, failure, body ' +
  'FROM inbox AS dead WHERE state = 2';
const selectDeadReplies =
  "SELECT 'out' AS box, seq, id, channel, conversation, message_id AS messageId, " +
  '(SELECT accepted_at FROM inbox WHERE inbox.id = dead.message_id) AS acceptedAt, ' +
  'settled_at AS diedAt, attempts, tries, failure, body ' +
  'FROM outbox AS dead WHERE state = 2';

/**
 * Selects, of a reply's parts, only the one that died last. A part's id is the reply's id followed
 * by `-00`, `-01` …; `.` sorts right after `-`.
 */
const isLastPart =
  `(length(dead.id) = ${wholeIdLength} OR NOT EXISTS (SELECT 1 FROM outbox AS part ` +
  `WHERE part.state = 2 AND part.id >= substr(dead.id, 1, ${wholeIdLength}) ` +
  `AND part.id < substr(dead.id, 1, ${wholeIdLength}) || '.' ` +
  'AND (part.settled_at, part.seq) > (dead.settled_at, dead.seq)))';
const afterKey =
  '(dead.settled_at, dead.seq) < (?, ?) ORDER BY dead.settled_at DESC, dead.seq DESC LIMIT ?';

const firstDeadLetter: [number, number] = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

export function listDeadLetters(db: DatabaseSync, request: PageRequest): Page<DeadLetter> {
  const limit = limitOf(request);
  const after = keyAfter(request, firstDeadLetter);
  if (after === null) return emptyPage;
  const rows = [
    ...rowsOf(db, `${selectDeadMessages} AND ${afterKey}`, ...after, limit + 1),
    ...rowsOf(db, `${selectDeadReplies} AND ${isLastPart} AND ${afterKey}`, ...after, limit + 1),
  ].sort((a, b) => b.diedAt - a.diedAt || b.seq - a.seq);
  const placeOf = ({ diedAt, seq }: DeadRow): PageKey => [diedAt, seq];
  return pageOf(rows, limit, placeOf, (row) => letterOf(row, partsOf(db, row)));
}

export function listDeadLetterReasons(db: DatabaseSync): readonly DeadLetterReason[] {
  const counts = [
    "SELECT 'in' AS box, failure, count(*) AS count FROM inbox WHERE state = 2 GROUP BY failure",
    "SELECT 'out' AS box, failure, count(*) AS count FROM outbox AS dead " +
      `WHERE state = 2 AND ${isLastPart} GROUP BY failure`,
  ];
  const rows = counts.flatMap((sql) => db.prepare(sql).all());
  return countReasons(
    rows.map((row) => ({
      ...reasonOf(row['failure'] as string | null),
      box: row['box'] as Box,
      count: Number(row['count']),
    })),
  );
}

/** @param id of a message, of a reply, or of a part of one */
export function findDeadLetter(db: DatabaseSync, id: string): DeadLetterText | null {
  const [message] = rowsOf(db, `${selectDeadMessages} AND id = ?`, id);
  const parts = message === undefined ? partsOfReply(db, id) : [message];
  const last = parts.toSorted((a, b) => a.diedAt - b.diedAt || a.seq - b.seq).at(-1);
  if (last === undefined) return null;
  return letterTextOf(idCipherOf(db), last, parts);
}

/** The dead parts of a reply, in order. Most replies have one. */
function partsOf(db: DatabaseSync, row: DeadRow): readonly DeadRow[] {
  return row.box === 'in' || row.id.length === wholeIdLength ? [row] : partsOfReply(db, row.id);
}

function partsOfReply(db: DatabaseSync, id: string): readonly DeadRow[] {
  const whole = id.slice(0, wholeIdLength);
  return rowsOf(db, `${selectDeadReplies} AND id >= ? AND id < ? ORDER BY id`, whole, `${whole}.`);
}

function rowsOf(db: DatabaseSync, sql: string, ...values: (number | string)[]): DeadRow[] {
  return db.prepare(sql).all(...values) as unknown as DeadRow[];
}

const questions: {
  readonly [Q in ReadName]: (db: DatabaseSync, ...request: ReadArguments<Q>) => ReadResult<Q>;
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

/** Answers one question. All of the answer is true at the same moment. */
export function runRead<Q extends ReadName>(
  db: DatabaseSync,
  question: Q,
  request: ReadArguments<Q>,
): ReadResult<Q> {
  db.exec('BEGIN');
  try {
    return questions[question](db, ...request);
  } finally {
    db.exec('ROLLBACK');
  }
}

/** An audit row. */
type AuditListRow = AuditRecord & { readonly seq: number };

/** Before every row. */
const firstAudit: [number] = [Number.MAX_SAFE_INTEGER];

export function listAudit(db: DatabaseSync, request: PageRequest): Page<AuditRow> {
  const limit = limitOf(request);
  const after = keyAfter(request, firstAudit);
  if (after === null) return emptyPage;
  const rows = db
    .prepare(
      'SELECT seq, at, action, target, status, reason FROM audit WHERE seq < ? ' +
        'ORDER BY seq DESC LIMIT ?',
    )
    .all(...after, limit + 1) as unknown as AuditListRow[];
  return pageOf(rows, limit, ({ seq }) => [seq], auditRowOf);
}

export function listConversationCounts(db: DatabaseSync): readonly ConversationCount[] {
  const rows = db
    .prepare('SELECT channel, conversations, turns, last_at FROM conversation_counts')
    .all();
  return rows.map((row) => ({
    channel: String(row['channel']) as ChannelKey,
    conversations: Number(row['conversations']),
    turns: Number(row['turns']),
    lastAt: Number(row['last_at']),
  }));
}

/** Finds a conversation by svc's own id for it. */
function findConversationKey(db: DatabaseSync, id: string): ConversationKey | null {
  const where = idCipherOf(db).keyOf(id);
  return where === null || findConversation(db, where) === null ? null : where;
}

/** Reads the message without its text, which may be long. */
const selectOrigin =
  "SELECT id, channel, conversation, iif(json_valid(body), body -> '$.sender', NULL) AS sender " +
  'FROM inbox WHERE id = ?';

function listOrigins(db: DatabaseSync, messageIds: readonly string[]): readonly MessageOrigin[] {
  const idCipher = idCipherOf(db);
  const find = db.prepare(selectOrigin);
  return messageIds.slice(0, originsMax).flatMap((id) => {
    const found = find.get(id) as unknown as OriginRecord | undefined;
    return found === undefined ? [] : [originOf(idCipher, found)];
  });
}

const selectLines =
  `SELECT id, substr(body, 1, ${lineBodyCharacters}) AS body, ` +
  'coalesce(private, channel NOT IN (SELECT channel FROM public_before)) AS private ' +
  'FROM inbox WHERE id IN (SELECT value FROM json_each(?))';

function listLines(db: DatabaseSync, messageIds: readonly string[]): readonly MessageLine[] {
  const wanted = messageIds.slice(0, originsMax);
  const found = db.prepare(selectLines).all(JSON.stringify(wanted));
  return linesOf(wanted, found as unknown as LineRecord[]);
}

/**
 * A row of deliveries. Replies come in the order in which they entered the outbox, newest first. An
 * index finds waiting and dead replies; the channel of each is checked row by row.
 */
type DeliveryListRow = DeliveryRecord & { readonly seq: number };

const selectDeliveries =
  'SELECT seq, id, message_id AS message, channel, created_at AS createdAt, state, attempts, ' +
  'due_at AS dueAt, late, possible_duplicate AS possibleDuplicate, failure FROM outbox';
const behind = 'seq < ? ORDER BY seq DESC';
const deliverySources = {
  unsettled: `${selectDeliveries} INDEXED BY outbox_unsettled WHERE state = 0 AND ${behind}`,
  dead: `${selectDeliveries} INDEXED BY outbox_dead_seq WHERE state = 2 AND ${behind}`,
  all: `${selectDeliveries} WHERE ${behind}`,
} as const;

/** Before every row. */
const firstDelivery: [number] = [Number.MAX_SAFE_INTEGER];

function listDeliveries(
  db: DatabaseSync,
  filter: DeliveryFilter,
  request: PageRequest,
): Page<DeliveryRow> {
  const after = keyAfter(request, firstDelivery);
  if (after === null) return emptyPage;
  const replies = db.prepare(sourceOf(filter)).iterate(...after);
  const candidates = replies as Iterable<unknown> as Iterable<DeliveryListRow>;
  const found = readPage(
    candidates,
    limitOf(request),
    (row) => fitsDelivery(filter, row),
    deliveryKey,
  );
  return {
    rows: found.rows.map(deliveryOf),
    next: found.next === null ? null : nextOf(found.next),
  };
}

function deliveryKey({ seq }: DeliveryListRow): PageKey {
  return [seq];
}

function sourceOf({ state }: DeliveryFilter): string {
  if (state === 'waiting' || state === 'deferred') return deliverySources.unsettled;
  return state === 'dead' ? deliverySources.dead : deliverySources.all;
}

export function readFigures(db: DatabaseSync, request: FiguresRequest): KeptFigures {
  const { lengthMs, from, until, own } = request;
  const gathering = new Rollup(request);
  const rows = db.prepare(
    'SELECT at, body FROM figures WHERE length_ms = ? AND at >= ? AND at < ? ORDER BY at, run',
  );
  for (const row of rows.iterate(lengthMs, from, until)) {
    gathering.add(row as Pick<FigureRow, 'at' | 'body'>);
  }
  const numberOf = (sql: string, ...values: readonly number[]): number | null => {
    const found = db.prepare(sql).get(...values)?.['n'] ?? null;
    return found === null ? null : Number(found);
  };
  const firstOf = (length: number): number | null =>
    numberOf('SELECT min(at) AS n FROM figures WHERE length_ms = ?', length);
  return gathering.told({
    first: { minute: firstOf(minuteMs), hour: firstOf(hourMs) },
    ownUntil: numberOf(
      'SELECT max(at) AS n FROM figures WHERE length_ms = ? AND at BETWEEN ? AND ? AND run = ?',
      minuteMs,
      own.first,
      own.last,
      own.run,
    ),
  });
}

/** Sums the spend of each key, separately for each price. */
function groupsBy(by: SpendBy): string {
  const [which, channel] =
    by === 'sender' ? ["channel <> ''", 'channel'] : ["channel = ''", 'NULL'];
  return (
    `SELECT ${by} AS key, ${channel} AS channel, price_input, price_output, ` +
    'min(day) AS first_day, max(day) AS last_day, sum(calls) AS calls, ' +
    'sum(estimated_calls) AS estimated_calls, sum(input) AS input, sum(output) AS output, ' +
    'sum(input * costs) AS costing_input, sum(output * costs) AS costing_output, ' +
    'sum(open_input) AS open_input, sum(open_output) AS open_output FROM spend ' +
    `WHERE ${which} AND day >= ? ` +
    'AND calls + input + output + open_input + open_output > 0 ' +
    'GROUP BY 1, 2, price_input, price_output'
  );
}

export function readSpend(db: DatabaseSync, by: SpendBy, since: string): readonly SpendRow[] {
  const found = db.prepare(groupsBy(by)).iterate(since);
  return spendRows(
    found.map((row): SpendGroup => ({
      key: String(row['key']),
      channel: row['channel'] === null ? null : String(row['channel']),
      firstDay: String(row['first_day']),
      lastDay: String(row['last_day']),
      price: priceOf(String(row['price_input']), String(row['price_output'])),
      calls: Number(row['calls']),
      estimatedCalls: Number(row['estimated_calls']),
      input: Number(row['input']),
      output: Number(row['output']),
      costing: { input: Number(row['costing_input']), output: Number(row['costing_output']) },
      openInput: Number(row['open_input']),
      openOutput: Number(row['open_output']),
    })),
  );
}

/** The story of one message: what happened to it, and what was said. */
const selectStoryMessage =
  'SELECT id, channel, accepted_at AS acceptedAt, state, attempts AS diedUnder, ' +
  'settled_at AS settledAt, failure FROM inbox WHERE id = ?';
const selectStoryReplies =
  'SELECT id, created_at AS createdAt, state, attempts, due_at AS dueAt, late, ' +
  'possible_duplicate AS possibleDuplicate, settled_at AS settledAt, took_ms AS tookMs, tries, ' +
  'failure FROM outbox WHERE message_id = ? ORDER BY seq';

const selectStoryText =
  'SELECT channel, conversation, body, unsent, ' +
  'coalesce(private, channel NOT IN (SELECT channel FROM public_before)) AS private ' +
  'FROM inbox WHERE id = ?';

function findStory(db: DatabaseSync, messageId: string): Story | null {
  const message = db.prepare(selectStoryMessage).get(messageId) as MessageRecord | undefined;
  if (message === undefined) return null;
  const trace = db.prepare('SELECT body FROM traces WHERE message_id = ?').get(messageId);
  const rows = db.prepare(selectStoryReplies).all(messageId) as unknown as ReplyRecord[];
  return storyOf(message, trace === undefined ? null : String(trace['body']), rows);
}

function findStoryText(db: DatabaseSync, messageId: string): StoryText | null {
  const found = db.prepare(selectStoryText).get(messageId) as SaidRecord | undefined;
  if (found === undefined) return null;
  const rows = db
    .prepare('SELECT id, body FROM outbox WHERE message_id = ? ORDER BY seq')
    .all(messageId);
  return storyTextOf(
    idCipherOf(db),
    found,
    rows.map((row) => ({ id: String(row['id']), body: String(row['body']) })),
    listUsesOf(db, messageId),
  );
}

/** The data of agents: notes, and the audit of their tools. */
const selectNotes = 'SELECT channel, conversation, at, text FROM notes';
const newestFirst = `ORDER BY seq DESC LIMIT ${pageRowsMax}`;

/** A scope has a hundred notes at most, unless another program wrote more. */
function listNotes(db: DatabaseSync, of: NotesOf): readonly NoteText[] {
  const rows =
    of.kind === 'brain'
      ? db.prepare(`${selectNotes} WHERE brain = ? ${newestFirst}`).all(of.brain)
      : db
          .prepare(
            `${selectNotes} WHERE brain IS NULL AND channel = ? AND conversation = ? ` +
              newestFirst,
          )
          .all(of.channel, of.conversation);
  return rows.reverse().map((row) => ({
    channel: String(row['channel']) as ChannelKey,
    conversation: String(row['conversation']) as ConversationId,
    at: Number(row['at']),
    text: String(row['text']),
  }));
}

/** The columns that `toolUseOf` needs. */
export const toolUseColumns =
  'seq, key, message_id AS messageId, channel, conversation, at, ms, tool, mode, rule, outcome, ' +
  'arguments, told';

function listToolUses(db: DatabaseSync, request: PageRequest): Page<ToolUseRow> {
  const limit = limitOf(request);
  const after = keyAfter(request, [Number.MAX_SAFE_INTEGER]);
  if (after === null) return emptyPage;
  const rows = db
    .prepare(`SELECT ${toolUseColumns} FROM tool_uses WHERE seq < ? ORDER BY seq DESC LIMIT ?`)
    .all(...after, limit + 1) as unknown as ToolUseRecord[];
  return pageOf(rows, limit, ({ seq }) => [seq], toolUseOf);
}

function findToolUse(db: DatabaseSync, key: string): ToolUseText | null {
  const found = db.prepare(`SELECT ${toolUseColumns} FROM tool_uses WHERE key = ?`).get(key);
  return found === undefined ? null : toolUseTextOf(found as unknown as ToolUseRecord);
}

/** The tool uses of one message, in order. */
function listUsesOf(db: DatabaseSync, messageId: string): readonly ToolUseRecord[] {
  const rows = db
    .prepare(`SELECT ${toolUseColumns} FROM tool_uses WHERE message_id = ? ORDER BY seq LIMIT ?`)
    .all(messageId, pageRowsMax);
  return rows as unknown as ToolUseRecord[];
}

/** Approvals, waiting and decided. */
const selectApprovals =
  'SELECT id, code, state, channel, conversation, sender, message_id AS messageId, brain, tool, ' +
  'private, asked_at AS askedAt, expires_at AS expiresAt, decided_at AS decidedAt, ' +
  'decided_by AS decidedBy, settled_at AS settledAt, outcome, body FROM approvals';

/** The row of `selectApprovals`. node:sqlite itself gives untyped values by name. */
type ApprovalListRow = Omit<ApprovalRecord, 'private'> & { readonly private: number };

/** A key before every row: `~` sorts after every digit of an id. */
const firstApproval: [string] = ['~'];

export function listApprovals(
  db: DatabaseSync,
  state: ApprovalState | null,
  request: PageRequest,
): Page<ApprovalRow> {
  const limit = limitOf(request);
  const after = keyAfter(request, firstApproval);
  if (after === null) return emptyPage;
  const which = state === null ? '' : 'state = ? AND ';
  const values = state === null ? after : [state, ...after];
  const sql = `${selectApprovals} WHERE ${which}id < ? ORDER BY id DESC LIMIT ?`;
  const rows = db.prepare(sql).all(...values, limit + 1) as unknown as readonly ApprovalListRow[];
  const placeOf = ({ id }: ApprovalListRow): [string] => [id];
  return pageOf(rows, limit, placeOf, (row) => approvalRowOf(approvalOf(row)));
}

export function findApproval(db: DatabaseSync, id: string): Approval | null {
  return approvalOrNull(db.prepare(`${selectApprovals} WHERE id = ?`).get(id));
}

export function showApproval(db: DatabaseSync, id: string): ApprovalText | null {
  const found = findApproval(db, id);
  return found === null ? null : approvalTextOf(found);
}

/** Finds an approval by its id or its code. */
export function findByIdOrCode(db: DatabaseSync, idOrCode: string): Approval | null {
  const sql = `${selectApprovals} WHERE id = ? OR code = ? ORDER BY id DESC LIMIT 1`;
  return approvalOrNull(db.prepare(sql).get(idOrCode, approvalCodeOf(idOrCode)));
}

/** The waiting approvals, oldest first. */
export function listWaiting(db: DatabaseSync): readonly Approval[] {
  const sql = `${selectApprovals} WHERE state = 'waiting' ORDER BY id LIMIT ${approvalsWaitingMax}`;
  return (db.prepare(sql).all() as unknown as readonly ApprovalListRow[]).map(approvalOf);
}

/** The owed approvals, as `isOwed` defines them, oldest first. */
export function listOwed(db: DatabaseSync, now: number): readonly Approval[] {
  const owed = "settled_at IS NULL AND (state <> 'waiting' OR expires_at <= ?)";
  const sql = `${selectApprovals} WHERE ${owed} ORDER BY id LIMIT ${approvalsOwedMax}`;
  return (db.prepare(sql).all(now) as unknown as readonly ApprovalListRow[]).map(approvalOf);
}

function approvalOrNull(found: Record<string, unknown> | undefined): Approval | null {
  return found === undefined ? null : approvalOf(found as unknown as ApprovalListRow);
}

function approvalOf(row: ApprovalListRow): Approval {
  return approvalFrom({ ...row, private: row.private === 1 });
}

/**
 * A row of messages, in the order of (acceptance, `seq`), newest or oldest first. The filter picks
 * the index: waiting, dead, an outcome other than a reply, no answer, or one brain. Otherwise each
 * channel has its own order, and these are merged.
 */
type MessageListRow = MessageSummary & { readonly seq: number };

/** Messages behind (at, seq) in the order of the list, and within the other end of the span. */
type Span = readonly [at: number, seq: number, end: number];

const selectMessages =
  'SELECT seq, id, channel, accepted_at AS acceptedAt, state, settled_at AS settledAt, brain, ' +
  'outcome, model FROM inbox INDEXED BY';
const newestSpan =
  '(accepted_at, seq) < (?, ?) AND accepted_at >= ? ORDER BY accepted_at DESC, seq DESC';
const oldestSpan = '(accepted_at, seq) > (?, ?) AND accepted_at < ? ORDER BY accepted_at, seq';
const sourcesIn = (span: string) => ({
  waiting: `${selectMessages} inbox_unsettled WHERE state = 0 AND ${span}`,
  dead: `${selectMessages} inbox_dead_accepted WHERE state = 2 AND ${span}`,
  unusual: `${selectMessages} inbox_unusual WHERE outcome <> 'reply' AND outcome = ? AND ${span}`,
  apology:
    `${selectMessages} inbox_unusual ` +
    `WHERE outcome <> 'reply' AND outcome = ? AND state = 1 AND ${span}`,
  brain: `${selectMessages} inbox_brain WHERE brain = ? AND ${span}`,
  channel: `${selectMessages} inbox_accepted WHERE channel = ? AND ${span}`,
});
const last = Number.MAX_SAFE_INTEGER;
const messageOrder = {
  newest: { sources: sourcesIn(newestSpan), beginning: [last, last], comesBefore: isNewer },
  oldest: {
    sources: sourcesIn(oldestSpan),
    beginning: [-1, -1],
    comesBefore: (a: MessageListRow, b: MessageListRow) => isNewer(b, a),
  },
} as const;

export function listMessages(
  db: DatabaseSync,
  filter: MessageFilter,
  request: MessagePage,
): Page<MessageRow> {
  const { order = 'newest' } = request;
  const after = keyAfter<[number, number]>(request, [...messageOrder[order].beginning]);
  if (after === null) return emptyPage;
  const candidates = candidatesOf(db, filter, order, spanOf(filter, order, after));
  const found = readPage(
    candidates,
    limitOf(request),
    (row) => fitsMessage(filter, row),
    messageKey,
  );
  const repliesOf = db.prepare('SELECT state, settled_at AS at FROM outbox WHERE message_id = ?');
  const rows = found.rows.map((row) => {
    return messageRowOf(row, repliesOf.all(row.id) as unknown as readonly ReplySummary[]);
  });
  return { rows, next: found.next === null ? null : nextOf(found.next) };
}

/** One range of the index: the page's place, or the end of the filter's span if it is closer. */
function spanOf(
  { since, until }: MessageFilter,
  order: keyof typeof messageOrder,
  [at, seq]: [number, number],
): Span {
  const [from, before] = [since ?? 0, until ?? last];
  if (order === 'oldest') return at < from ? [from, -1, before] : [at, seq, before];
  return at < before ? [at, seq, from] : [before, 0, from];
}

function messageKey({ acceptedAt, seq }: MessageListRow): PageKey {
  return [acceptedAt, seq];
}

function candidatesOf(
  db: DatabaseSync,
  filter: MessageFilter,
  order: keyof typeof messageOrder,
  span: Span,
): Iterable<MessageListRow> {
  const read = (sql: string, ...values: (string | number)[]): Iterable<MessageListRow> =>
    db.prepare(sql).iterate(...values) as Iterable<unknown> as Iterable<MessageListRow>;
  const { state, outcome, brain } = filter;
  const { sources, comesBefore } = messageOrder[order];
  if (state === 'waiting' && fewWait(db)) return read(sources.waiting, ...span);
  if (state === 'dead') return read(sources.dead, ...span);
  if (outcome !== null && outcome !== 'reply') return read(sources.unusual, outcome, ...span);
  if (state === 'unanswered') {
    const sorry = apologies.map((apology) => read(sources.apology, apology, ...span));
    return merge([read(sources.dead, ...span), ...sorry], comesBefore);
  }
  if (brain !== null) return read(sources.brain, brain, ...span);
  const channels = channelsOfMessages(db).filter((key) => isOnChannel(key, filter.channel));
  return merge(
    channels.map((key) => read(sources.channel, key, ...span)),
    comesBefore,
  );
}

function isNewer(a: MessageListRow, b: MessageListRow): boolean {
  return a.acceptedAt > b.acceptedAt || (a.acceptedAt === b.acceptedAt && a.seq > b.seq);
}

/**
 * Whether few messages wait. Waiting messages are sorted for each page. When many wait, a
 * row-by-row search finds enough of them soon.
 */
function fewWait(db: DatabaseSync): boolean {
  const some = `SELECT 1 FROM inbox WHERE state = 0 LIMIT ${looksMax + 1}`;
  return Number(db.prepare(`SELECT count(*) AS n FROM (${some})`).get()?.['n']) <= looksMax;
}
