/** Lists of dead letters, approvals, messages and replies, newest first. */
import { apologies } from '../../../domain/decision.ts';
import { timeText } from '../../../domain/ids.ts';
import type { Page, PageRequest } from '../../../domain/page.ts';
import type {
  MessageFilter,
  MessagePage,
  MessageRow,
  DeliveryFilter,
  DeliveryRow,
} from '../../../domain/records.ts';
import { emptyPage, keyAfter, limitOf, pageOf, countReasons, type PageKey } from '../../pages.ts';
import {
  fitsMessage,
  messageRowOf,
  deliveryOf,
  fitsDelivery,
  letterOf,
  letterTextOf,
  type MessageSummary,
  type ReplySummary,
  type DeliveryRecord,
  type DeadRecord,
} from '../../read/stories.ts';
import { fromTextOrNull, fromText } from '../server/text.ts';
import {
  num,
  Values,
  whole,
  originalRowsSql,
  replayedRowsSql,
  beginning,
  beginningOldest,
  newestFirst,
  oldestFirst,
  listOf,
  onChannel,
  timeMax,
  placed,
  idCipherOf,
  type Ask,
  type ReplayColumn,
  type Asked,
  type StreamRow,
  type Place,
  type Stream,
} from './lists.ts';
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
  approvalsWaitingMax as waitingMax,
  type ApprovalRecord,
} from '../../engine/approvals.ts';
import type { Box } from '../../../domain/event.ts';
import type { DeadLetter, DeadLetterReason, DeadLetterText } from '../../../domain/story.ts';
import { wholeIdLength } from '../../engine/queue.ts';
import { reasonOf } from '../../read/stored-json.ts';

/**
 * Dead letters: messages and replies that are not tried again, in the order of (time of death, id),
 * newest first. The parts of a split reply are one letter, at the place of its last dead part.
 */
const deadLettersColumns = (body: string): string =>
  `dead.id, dead.channel, dead.conversation, ${num('dead.settled_at', 'diedAt')}, ` +
  `dead.attempts, dead.failure, ${body} AS body`;
const messages = (body: string): string =>
  `SELECT 'in' AS box, dead.id AS "messageId", ${num('dead.accepted_at', 'acceptedAt')}, ` +
  `NULL AS tries, ${deadLettersColumns(body)} FROM svc.message AS dead WHERE failure IS NOT NULL`;
const acceptedIn = (table: string): string =>
  `SELECT accepted_at::bigint FROM svc.${table} WHERE id = dead.message_id`;
const deadReplies = (body: string): string =>
  `SELECT 'out' AS box, dead.message_id AS "messageId", ` +
  `coalesce((${acceptedIn('message')}), (${acceptedIn('inbox')})) AS "acceptedAt", ` +
  `dead.tries, ${deadLettersColumns(body)} FROM svc.sent AS dead WHERE dead.failure IS NOT NULL`;

/**
 * True for the part of a letter that died last. The id of a part is the id of the reply and `-00`,
 * `-01` …; `.` sorts right after `-`.
 */
const standsForAll =
  `(length(dead.id) = ${wholeIdLength} OR NOT EXISTS (SELECT 1 FROM svc.sent AS part ` +
  `WHERE part.failure IS NOT NULL AND part.id >= left(dead.id, ${wholeIdLength}) ` +
  `AND part.id < left(dead.id, ${wholeIdLength}) || '.' ` +
  'AND (part.settled_at, part.id) > (dead.settled_at, dead.id)))';
const deadLettersBehind =
  '(dead.settled_at, dead.id) < ($1, $2) ORDER BY dead.settled_at DESC, dead.id DESC LIMIT $3';
/** Without texts. */
const listed = [
  `${messages("''")} AND ${deadLettersBehind}`,
  `${deadReplies("''")} AND ${standsForAll} AND ${deadLettersBehind}`,
];

const deadLettersBeginning: [number, string] = [Number.MAX_SAFE_INTEGER, '~'];

export async function listDeadLetters(ask: Ask, asked: PageRequest): Promise<Page<DeadLetter>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, deadLettersBeginning);
  if (after === null) return emptyPage;
  const found = await Promise.all(
    listed.map((sql) => ask<DeadRecord>(sql, whole(after[0]), after[1], limit + 1)),
  );
  const rows = found.flat().sort(diedLast);
  const split = rows.filter(({ box, id }) => box === 'out' && id.length > wholeIdLength);
  const parts = await partsOf(ask, split);
  const placeOf = ({ diedAt, id }: DeadRecord): PageKey => [diedAt, id];
  return pageOf(rows, limit, placeOf, (row) => letterOf(row, parts.get(wholeOf(row.id)) ?? [row]));
}

function diedLast(a: DeadRecord, b: DeadRecord): number {
  return b.diedAt - a.diedAt || (a.id < b.id ? 1 : -1);
}

function wholeOf(id: string): string {
  return id.slice(0, wholeIdLength);
}

const parts = `${deadReplies('dead.body')} AND dead.id >= $1 AND dead.id < $2 ORDER BY dead.id`;
const partsOfSome =
  'SELECT part.id, part.attempts, part.failure FROM unnest($1::text[]) AS whole (id) ' +
  'CROSS JOIN LATERAL (SELECT id, attempts, failure FROM svc.sent WHERE failure IS NOT NULL ' +
  "AND sent.id >= whole.id AND sent.id < whole.id || '.' ORDER BY sent.id) AS part";

/** The dead parts of the replies in their order, by the id of the whole reply. */
async function partsOf(
  ask: Ask,
  rows: readonly DeadRecord[],
): Promise<ReadonlyMap<string, readonly DeadRecord[]>> {
  if (rows.length === 0) return new Map();
  const wholes = [...new Set(rows.map(({ id }) => wholeOf(id)))];
  const found = await ask<Pick<DeadRecord, 'id' | 'attempts' | 'failure'>>(partsOfSome, wholes);
  const like = new Map(rows.map((row) => [wholeOf(row.id), row]));
  const letterParts = found.map((part) => ({ ...like.get(wholeOf(part.id))!, ...part }));
  return Map.groupBy(letterParts, ({ id }) => wholeOf(id));
}

const reasons = [
  "SELECT 'in' AS box, failure, count(*)::integer AS count FROM svc.message " +
    'WHERE failure IS NOT NULL GROUP BY failure',
  "SELECT 'out' AS box, failure, count(*)::integer AS count FROM svc.sent AS dead " +
    `WHERE failure IS NOT NULL AND ${standsForAll} GROUP BY failure`,
];

type Reason = { readonly box: Box; readonly failure: string; readonly count: number };

export async function listDeadLetterReasons(ask: Ask): Promise<readonly DeadLetterReason[]> {
  const found = await Promise.all(reasons.map((sql) => ask<Reason>(sql)));
  return countReasons(
    found.flat().map(({ box, failure, count }) => ({ ...reasonOf(failure), box, count })),
  );
}

const deadLettersMessage = `${messages('dead.body')} AND dead.id = $1`;

/** @param id the id of a message, a reply, or a part of a reply */
export async function findDeadLetter(ask: Ask, id: string): Promise<DeadLetterText | null> {
  const [idCipher, found, ofReply] = await Promise.all([
    idCipherOf(ask),
    ask<DeadRecord>(deadLettersMessage, id),
    ask<DeadRecord>(parts, wholeOf(id), `${wholeOf(id)}.`),
  ]);
  const all = (found.length > 0 ? found : ofReply).map(placed);
  const last = all.toSorted(diedLast)[0];
  return last === undefined ? null : letterTextOf(idCipher, last, all);
}

/** Approvals: waiting, decided and settled. */
const approvalRow =
  'SELECT id, code, state, channel, conversation, sender, message_id AS "messageId", brain, ' +
  `tool, private, ${num('asked_at', 'askedAt')}, ${num('expires_at', 'expiresAt')}, ` +
  `${num('decided_at', 'decidedAt')}, decided_by AS "decidedBy", ` +
  `${num('settled_at', 'settledAt')}, outcome, body FROM svc.approval`;
const behind = `${approvalRow} WHERE id < $1 ORDER BY id DESC LIMIT $2`;
const behindOfState = `${approvalRow} WHERE id < $1 AND state = $3 ORDER BY id DESC LIMIT $2`;
const byId = `${approvalRow} WHERE id = $1`;
const byIdOrCode = `${approvalRow} WHERE id = $1 OR code = $2 ORDER BY id DESC LIMIT 1`;
const waitingApprovals = `${approvalRow} WHERE state = 'waiting' ORDER BY id LIMIT ${waitingMax}`;
const isOwed = "settled_at IS NULL AND (state <> 'waiting' OR expires_at <= $1)";
const owed = `${approvalRow} WHERE ${isOwed} ORDER BY id LIMIT ${approvalsOwedMax}`;

/** The place before every row: `~` sorts after every id. */
const newest: [string] = ['~'];

export async function listApprovals(
  ask: Ask,
  state: ApprovalState | null,
  asked: PageRequest,
): Promise<Page<ApprovalRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, newest);
  if (after === null) return emptyPage;
  const rows = await (state === null
    ? ask<ApprovalRecord>(behind, after[0], limit + 1)
    : ask<ApprovalRecord>(behindOfState, after[0], limit + 1, state));
  const placeOf = ({ id }: ApprovalRecord): [string] => [id];
  return pageOf(rows, limit, placeOf, (row) => approvalRowOf(approvalOf(row)));
}

export async function showApproval(ask: Ask, id: string): Promise<ApprovalText | null> {
  const found = firstOf(await ask<ApprovalRecord>(byId, id));
  return found === null ? null : approvalTextOf(found);
}

/** Finds an approval by its id or its code. */
export async function findByIdOrCode(ask: Ask, idOrCode: string): Promise<Approval | null> {
  return firstOf(await ask<ApprovalRecord>(byIdOrCode, idOrCode, approvalCodeOf(idOrCode)));
}

/** Waiting approvals, oldest first. */
export async function listWaiting(ask: Ask): Promise<readonly Approval[]> {
  return (await ask<ApprovalRecord>(waitingApprovals)).map(approvalOf);
}

/** Approvals that still owe a turn (`isOwed` of the domain), oldest first. */
export async function listOwed(ask: Ask, now: number): Promise<readonly Approval[]> {
  return (await ask<ApprovalRecord>(owed, Math.floor(now))).map(approvalOf);
}

function firstOf([row]: readonly ApprovalRecord[]): Approval | null {
  return row === undefined ? null : approvalOf(row);
}

function approvalOf(row: ApprovalRecord): Approval {
  return approvalFrom({
    ...placed(row),
    id: fromText(row.id),
    code: fromText(row.code),
    sender: fromText(row.sender),
    brain: fromText(row.brain),
    tool: fromText(row.tool),
    decidedBy: fromTextOrNull(row.decidedBy),
  });
}

type ListedMessage = MessageSummary & StreamRow;

const head = `channel, ${num('accepted_at', 'acceptedAt')}`;
const waiting =
  `${head}, 0 AS state, NULL::bigint AS "settledAt", NULL AS brain, NULL AS outcome, ` +
  'NULL AS model';
const settled =
  `${head}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END AS state, ` +
  `${num('settled_at', 'settledAt')}, brain, outcome, model`;
const messageReplays: ReplayColumn = {
  column: 'accepted_at',
  is: 'replayed',
  isNot: 'NOT replayed',
};

/** An id and its message have nearly the same time, unless the clock was set back further. */
const apartMs = 60_000;

export async function listMessages(
  ask: Ask,
  filter: MessageFilter,
  asked: MessagePage,
): Promise<Page<MessageRow>> {
  const isNewestFirst = asked.order !== 'oldest';
  const after = keyAfter(asked, isNewestFirst ? beginning : beginningOldest);
  if (after === null) return emptyPage;
  const limit = limitOf(asked);
  const matches = (row: ListedMessage): boolean =>
    fitsMessage(filter, row) && isWithin(filter, row);
  const how = { after, limit, direction: isNewestFirst ? newestFirst : oldestFirst };
  const streams = streamsOf(filter, how);
  const { rows, next } = await listOf(ask, streams, limit, matches, readable, isNewestFirst);
  const replies = await repliesTo(ask, rows);
  return { rows: rows.map((row) => messageRowOf(row, replies.get(row.id) ?? [])), next };
}

/** The place, the rows and the order of a page. */
type How = {
  readonly after: Place;
  readonly limit: number;
  readonly direction: Stream['direction'];
};

function streamsOf(filter: MessageFilter, how: How): readonly Asked[] {
  const { state, brain, outcome } = filter;
  const boxes = [
    ...((state !== null && state !== 'waiting') || brain !== null || outcome !== null
      ? []
      : (['inbox'] as const)),
    ...(state === 'waiting' ? [] : (['message'] as const)),
  ];
  const isUnanswered = state === 'unanswered' && outcome === null;
  return boxes.flatMap((box) => [
    ...(isUnanswered ? unansweredRows(filter, how) : [originalRows(box, filter, how)]),
    replayedRows(box, filter, how),
  ]);
}

/** Dead messages, and those of each apology: an index finds each of these lists. */
function unansweredRows(filter: MessageFilter, how: How): readonly Asked[] {
  const dead = originalRows('message', { ...filter, state: 'dead' }, how);
  const sorry = apologies.map((outcome) => {
    return originalRows('message', { ...filter, state: 'answered', outcome }, how);
  });
  return [dead, ...sorry];
}

type BoxTable = 'inbox' | 'message';

function originalRows(table: BoxTable, filter: MessageFilter, how: How): Asked {
  const { after, limit, direction } = how;
  const values = new Values();
  const { since, until } = filter;
  const stream = streamOf(table, filter, values, direction);
  const within = {
    from: since === null ? null : timeText(timeWithin(since - apartMs)),
    before: until === null ? null : timeText(timeWithin(until + apartMs)),
  };
  return { text: originalRowsSql(stream, messageReplays, values, after, within, limit), values };
}

function replayedRows(table: BoxTable, filter: MessageFilter, how: How): Asked {
  const { after, limit, direction } = how;
  const values = new Values();
  const stream = streamOf(table, filter, values, direction);
  return { text: replayedRowsSql(stream, messageReplays, values, after, limit), values };
}

function timeWithin(ms: number): number {
  return Math.min(timeMax, Math.max(0, whole(ms)));
}

function streamOf(
  table: BoxTable,
  filter: MessageFilter,
  values: Values,
  direction: Stream['direction'],
) {
  const { channel, brain, outcome, state, since, until } = filter;
  const isUnusual = outcome !== null && outcome !== 'reply' && state !== 'dead';
  const found = [
    ...(state === 'dead' ? ['failure IS NOT NULL'] : []),
    ...(isUnusual ? [`outcome = ${values.put(outcome)} AND outcome <> 'reply'`] : []),
  ];
  const fits = [
    ...onChannel(channel, values),
    ...(brain === null ? [] : [`brain = ${values.put(brain)}`]),
    ...(outcome === null || isUnusual ? [] : [`outcome = ${values.put(outcome)}`]),
    ...(state === 'answered' ? ['failure IS NULL'] : []),
    ...(state === 'unanswered'
      ? [`(failure IS NOT NULL OR outcome = ANY(${values.put(apologies)}))`]
      : []),
    ...(since === null ? [] : [`accepted_at >= ${values.put(whole(since))}`]),
    ...(until === null ? [] : [`accepted_at < ${values.put(whole(until))}`]),
  ];
  return {
    table,
    columns: table === 'inbox' ? waiting : settled,
    found: found[0] ?? null,
    fits: fits.length === 0 ? null : `(${fits.join(' AND ')})`,
    direction,
  };
}

function readable(row: ListedMessage): ListedMessage {
  return { ...row, brain: fromTextOrNull(row.brain), model: fromTextOrNull(row.model) };
}

function isWithin({ since, until }: MessageFilter, { acceptedAt }: ListedMessage): boolean {
  return acceptedAt >= (since ?? 0) && acceptedAt < (until ?? Number.POSITIVE_INFINITY);
}

type ReplyFound = ReplySummary & { readonly message: string };

const of = 'WHERE message_id = ANY($1::text[])';
const replies =
  `SELECT message_id AS message, 0 AS state, NULL::bigint AS at FROM svc.outbox ${of} UNION ALL ` +
  'SELECT message_id, CASE WHEN failure IS NULL THEN 1 ELSE 2 END, settled_at::bigint ' +
  `FROM svc.sent ${of}`;

async function repliesTo(
  ask: Ask,
  rows: readonly ListedMessage[],
): Promise<ReadonlyMap<string, readonly ReplySummary[]>> {
  if (rows.length === 0) return new Map();
  const found = await ask<ReplyFound>(
    replies,
    rows.map(({ id }) => id),
  );
  return Map.groupBy(found, ({ message }) => message);
}

/** Replies, newest first; a replayed one has the time of its replay. */
type ListedDelivery = DeliveryRecord & StreamRow;

const queued =
  `message_id AS message, channel, ${num('created_at', 'createdAt')}, attempts, late, ` +
  'possible_duplicate AS "possibleDuplicate", failure';
const columns = {
  outbox: `${queued}, 0 AS state, ${num('due_at', 'dueAt')}`,
  sent: `${queued}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END AS state, NULL::bigint AS "dueAt"`,
} as const;
const deliveriesAgain: ReplayColumn = {
  column: 'replayed_at',
  is: 'replayed_at IS NOT NULL',
  isNot: 'replayed_at IS NULL',
};
/** The condition for each state. */
const fitting = {
  waiting: 'due_at IS NULL',
  deferred: 'due_at IS NOT NULL',
  delivered: 'failure IS NULL',
} as const;

export async function listDeliveries(
  ask: Ask,
  filter: DeliveryFilter,
  asked: PageRequest,
): Promise<Page<DeliveryRow>> {
  const after = keyAfter(asked, beginning);
  if (after === null) return emptyPage;
  const limit = limitOf(asked);
  const matches = (row: ListedDelivery): boolean => fitsDelivery(filter, row);
  const streams = deliveriesStreamsOf(filter, after, limit);
  const { rows, next } = await listOf(ask, streams, limit, matches, (row) => row);
  return { rows: rows.map(deliveryOf), next };
}

function deliveriesStreamsOf(
  filter: DeliveryFilter,
  after: Place,
  limit: number,
): readonly Asked[] {
  const everything = { from: null, before: null };
  return tablesOf(filter).flatMap((table) => {
    const came = new Values();
    const back = new Values();
    return [
      {
        text: originalRowsSql(
          deliveriesStreamOf(table, filter, came),
          deliveriesAgain,
          came,
          after,
          everything,
          limit,
        ),
        values: came,
      },
      {
        text: replayedRowsSql(
          deliveriesStreamOf(table, filter, back),
          deliveriesAgain,
          back,
          after,
          limit,
        ),
        values: back,
      },
    ];
  });
}

function tablesOf({ state }: DeliveryFilter): readonly (keyof typeof columns)[] {
  if (state === null) return ['outbox', 'sent'];
  return state === 'waiting' || state === 'deferred' ? ['outbox'] : ['sent'];
}

function deliveriesStreamOf(
  table: keyof typeof columns,
  { channel, state }: DeliveryFilter,
  values: Values,
): Stream {
  const fits = onChannel(channel, values);
  const looked = state === null || state === 'dead' ? fits : [...fits, fitting[state]];
  return {
    table,
    columns: columns[table],
    found: state === 'dead' ? 'failure IS NOT NULL' : null,
    fits: looked.length === 0 ? null : `(${looked.join(' AND ')})`,
    direction: newestFirst,
  };
}
