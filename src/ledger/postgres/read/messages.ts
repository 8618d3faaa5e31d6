/** Messages, newest first. What waits stands in one table, what is settled in another. */
import { timeText } from '../../../domain/ids.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { MessageFilter, MessageRow } from '../../../domain/records.ts';
import { emptyPage, keyAfter, limitOf } from '../../pages.ts';
import {
  fitsMessage,
  messageRowOf,
  type MessageSummary,
  type ReplySummary,
} from '../../read/messages.ts';
import { fromTextOrNull } from '../server/text.ts';
import { num, Values, whole, type Ask } from './ask.ts';
import {
  asTheyCame,
  asTheyCameBack,
  beginning,
  listOf,
  onChannel,
  timeMax,
  type Again,
  type Asked,
  type Looked,
  type Place,
} from './lists.ts';

type Told = MessageSummary & Looked;

const head = `channel, ${num('accepted_at', 'acceptedAt')}`;
const waiting =
  `${head}, 0 AS state, NULL::bigint AS "settledAt", NULL AS brain, NULL AS outcome, ` +
  'NULL AS model';
const settled =
  `${head}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END AS state, ` +
  `${num('settled_at', 'settledAt')}, brain, outcome, model`;
const again: Again = { column: 'accepted_at', is: 'replayed', isNot: 'NOT replayed' };

/** An id is made with its message; a clock that is set back by more than this parts them. */
const apartMs = 60_000;

export async function listMessages(
  ask: Ask,
  filter: MessageFilter,
  asked: PageAsked,
): Promise<Page<MessageRow>> {
  const after = keyAfter(asked, beginning);
  if (after === null) return emptyPage;
  const limit = limitOf(asked);
  const matches = (row: Told): boolean => fitsMessage(filter, row) && isWithin(filter, row);
  const streams = streamsOf(filter, after, limit);
  const { rows, next } = await listOf(ask, streams, limit, matches, readable);
  const replies = await repliesTo(ask, rows);
  return { rows: rows.map((row) => messageRowOf(row, replies.get(row.id) ?? [])), next };
}

function streamsOf(filter: MessageFilter, after: Place, limit: number): readonly Asked[] {
  const { state, brain, outcome } = filter;
  const boxes = [
    ...(state === 'answered' || state === 'dead' || brain !== null || outcome !== null
      ? []
      : (['inbox'] as const)),
    ...(state === 'waiting' ? [] : (['message'] as const)),
  ];
  return boxes.flatMap((box) => [
    cameTo(box, filter, after, limit),
    cameBackTo(box, filter, after, limit),
  ]);
}

type BoxTable = 'inbox' | 'message';

function cameTo(table: BoxTable, filter: MessageFilter, after: Place, limit: number): Asked {
  const values = new Values();
  const { since, until } = filter;
  const stream = streamOf(table, filter, values);
  const within = {
    from: since === null ? null : timeText(timeWithin(since - apartMs)),
    before: until === null ? null : timeText(timeWithin(until + apartMs)),
  };
  return { text: asTheyCame(stream, again, values, after, within, limit), values };
}

function cameBackTo(table: BoxTable, filter: MessageFilter, after: Place, limit: number): Asked {
  const values = new Values();
  const stream = streamOf(table, filter, values);
  return { text: asTheyCameBack(stream, again, values, after, limit), values };
}

function timeWithin(ms: number): number {
  return Math.min(timeMax, Math.max(0, whole(ms)));
}

function streamOf(table: BoxTable, filter: MessageFilter, values: Values) {
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
    ...(since === null ? [] : [`accepted_at >= ${values.put(whole(since))}`]),
    ...(until === null ? [] : [`accepted_at < ${values.put(whole(until))}`]),
  ];
  return {
    table,
    columns: table === 'inbox' ? waiting : settled,
    found: found[0] ?? null,
    fits: fits.length === 0 ? null : `(${fits.join(' AND ')})`,
  };
}

function readable(row: Told): Told {
  return { ...row, brain: fromTextOrNull(row.brain), model: fromTextOrNull(row.model) };
}

function isWithin({ since, until }: MessageFilter, { acceptedAt }: Told): boolean {
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
  rows: readonly Told[],
): Promise<ReadonlyMap<string, readonly ReplySummary[]>> {
  if (rows.length === 0) return new Map();
  const found = await ask<ReplyFound>(
    replies,
    rows.map(({ id }) => id),
  );
  return Map.groupBy(found, ({ message }) => message);
}
