/** Messages and replies by how their ids begin: the keys of four tables. */
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { FoundRow } from '../../../domain/search.ts';
import { emptyPage, limitOf } from '../../pages.ts';
import { pageOfIds, rangeOfIds, type IdRecord } from '../../read/search.ts';
import { fromTextOrNull } from '../server/text.ts';
import { num, type Ask } from './ask.ts';

const inRange = (table: string): string =>
  `${table}.id >= $1 AND ${table}.id < $2 ORDER BY ${table}.id DESC LIMIT $3`;
const deadOr = (state: number): string => `CASE WHEN it.failure IS NULL THEN ${state} ELSE 2 END`;
const message = (table: string, state: string, ended: string): string =>
  `SELECT 'in' AS box, it.id, it.id AS "messageId", it.channel, ${num('it.accepted_at', 'at')}, ` +
  `${state} AS state, ${ended} FROM svc.${table} AS it WHERE ${inRange('it')}`;
const reply = (table: string, state: string): string =>
  `SELECT 'out' AS box, it.id, it.message_id AS "messageId", it.channel, ` +
  `${num('it.created_at', 'at')}, ${state} AS state, message.brain, message.outcome ` +
  `FROM svc.${table} AS it LEFT JOIN svc.message AS message ON message.id = it.message_id ` +
  `WHERE ${inRange('it')}`;
const sources = [
  message('inbox', '0', 'NULL AS brain, NULL AS outcome'),
  message('message', deadOr(1), 'it.brain, it.outcome'),
  reply('outbox', '0'),
  reply('sent', deadOr(1)),
];

export async function findByIds(
  ask: Ask,
  beginning: string,
  asked: PageAsked,
): Promise<Page<FoundRow>> {
  const range = rangeOfIds(beginning, asked);
  if (range === null) return emptyPage;
  const most = limitOf(asked) + 1;
  const found = await Promise.all(
    sources.map((sql) => ask<IdRecord>(sql, range.from, range.before, most)),
  );
  const records = found.flat().map((row) => ({ ...row, brain: fromTextOrNull(row.brain) }));
  return pageOfIds(records, asked);
}
