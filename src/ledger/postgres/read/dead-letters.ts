/**
 * Dead letters: messages and replies that are not tried again. The newest come first, in the order
 * of (when it died, id). The parts of a split reply are one letter, which stands where the last of
 * them died.
 */
import type { Box } from '../../../domain/event.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { DeadLetter, DeadLetterReason, DeadLetterText } from '../../../domain/story.ts';
import { wholeIdLength } from '../../engine/order/rows.ts';
import { emptyPage, keyAfter, limitOf, pageOf, type PageKey } from '../../pages.ts';
import { letterOf, letterTextOf, type DeadRecord } from '../../read/dead-letters.ts';
import { reasonOf } from '../../read/stored-json.ts';
import { countReasons } from '../../reasons.ts';
import { num, placed, whole, type Ask } from './ask.ts';
import { idCipherOf } from './id-cipher.ts';

const columns = (body: string): string =>
  `dead.id, dead.channel, dead.conversation, ${num('dead.settled_at', 'diedAt')}, ` +
  `dead.attempts, dead.failure, ${body} AS body`;
const messages = (body: string): string =>
  `SELECT 'in' AS box, dead.id AS "messageId", ${num('dead.accepted_at', 'acceptedAt')}, ` +
  `NULL AS tries, ${columns(body)} FROM svc.message AS dead WHERE failure IS NOT NULL`;
const acceptedIn = (table: string): string =>
  `SELECT accepted_at::bigint FROM svc.${table} WHERE id = dead.message_id`;
const replies = (body: string): string =>
  `SELECT 'out' AS box, dead.message_id AS "messageId", ` +
  `coalesce((${acceptedIn('message')}), (${acceptedIn('inbox')})) AS "acceptedAt", ` +
  `dead.tries, ${columns(body)} FROM svc.sent AS dead WHERE dead.failure IS NOT NULL`;

/**
 * Of a letter's parts only the one that died last stands for it. A part's id is the whole reply's,
 * and `-00`, `-01` … behind it; `.` comes right after `-`.
 */
const standsForAll =
  `(length(dead.id) = ${wholeIdLength} OR NOT EXISTS (SELECT 1 FROM svc.sent AS part ` +
  `WHERE part.failure IS NOT NULL AND part.id >= left(dead.id, ${wholeIdLength}) ` +
  `AND part.id < left(dead.id, ${wholeIdLength}) || '.' ` +
  'AND (part.settled_at, part.id) > (dead.settled_at, dead.id)))';
const behind =
  '(dead.settled_at, dead.id) < ($1, $2) ORDER BY dead.settled_at DESC, dead.id DESC LIMIT $3';
/** Without what they say. */
const listed = [
  `${messages("''")} AND ${behind}`,
  `${replies("''")} AND ${standsForAll} AND ${behind}`,
];

const beginning: [number, string] = [Number.MAX_SAFE_INTEGER, '~'];

export async function listDeadLetters(ask: Ask, asked: PageAsked): Promise<Page<DeadLetter>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, beginning);
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

const parts = `${replies('dead.body')} AND dead.id >= $1 AND dead.id < $2 ORDER BY dead.id`;
const partsOfSome =
  'SELECT part.id, part.attempts, part.failure FROM unnest($1::text[]) AS whole (id) ' +
  'CROSS JOIN LATERAL (SELECT id, attempts, failure FROM svc.sent WHERE failure IS NOT NULL ' +
  "AND sent.id >= whole.id AND sent.id < whole.id || '.' ORDER BY sent.id) AS part";

/** The dead parts of those replies, in their order, by the id of the whole. */
async function partsOf(
  ask: Ask,
  rows: readonly DeadRecord[],
): Promise<ReadonlyMap<string, readonly DeadRecord[]>> {
  if (rows.length === 0) return new Map();
  const wholes = [...new Set(rows.map(({ id }) => wholeOf(id)))];
  const found = await ask<Pick<DeadRecord, 'id' | 'attempts' | 'failure'>>(partsOfSome, wholes);
  const like = new Map(rows.map((row) => [wholeOf(row.id), row]));
  const told = found.map((part) => ({ ...like.get(wholeOf(part.id))!, ...part }));
  return Map.groupBy(told, ({ id }) => wholeOf(id));
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

const message = `${messages('dead.body')} AND dead.id = $1`;

/** @param id of a message, of a reply, or of a part of one */
export async function findDeadLetter(ask: Ask, id: string): Promise<DeadLetterText | null> {
  const [idCipher, found, ofReply] = await Promise.all([
    idCipherOf(ask),
    ask<DeadRecord>(message, id),
    ask<DeadRecord>(parts, wholeOf(id), `${wholeOf(id)}.`),
  ]);
  const all = (found.length > 0 ? found : ofReply).map(placed);
  const last = all.toSorted(diedLast)[0];
  return last === undefined ? null : letterTextOf(idCipher, last, all);
}
