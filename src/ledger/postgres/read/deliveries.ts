/** Replies on their way, newest first; one that was put back is as new as that. */
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { DeliveryFilter, DeliveryRow } from '../../../domain/records.ts';
import { emptyPage, keyAfter, limitOf } from '../../pages.ts';
import { deliveryOf, fitsDelivery, type DeliveryRecord } from '../../read/deliveries.ts';
import { num, Values, type Ask } from './ask.ts';
import {
  asTheyCame,
  asTheyCameBack,
  beginning,
  listOf,
  onChannel,
  type Again,
  type Asked,
  type Looked,
  type Place,
  type Stream,
} from './lists.ts';

type Told = DeliveryRecord & Looked;

const head =
  `message_id AS message, channel, ${num('created_at', 'createdAt')}, attempts, late, ` +
  'possible_duplicate AS "possibleDuplicate", failure';
const columns = {
  outbox: `${head}, 0 AS state, ${num('due_at', 'dueAt')}`,
  sent: `${head}, CASE WHEN failure IS NULL THEN 1 ELSE 2 END AS state, NULL::bigint AS "dueAt"`,
} as const;
const again: Again = {
  column: 'replayed_at',
  is: 'replayed_at IS NOT NULL',
  isNot: 'replayed_at IS NULL',
};
/** What is looked at for a state. */
const fitting = {
  waiting: 'due_at IS NULL',
  deferred: 'due_at IS NOT NULL',
  delivered: 'failure IS NULL',
} as const;

export async function listDeliveries(
  ask: Ask,
  filter: DeliveryFilter,
  asked: PageAsked,
): Promise<Page<DeliveryRow>> {
  const after = keyAfter(asked, beginning);
  if (after === null) return emptyPage;
  const limit = limitOf(asked);
  const matches = (row: Told): boolean => fitsDelivery(filter, row);
  const streams = streamsOf(filter, after, limit);
  const { rows, next } = await listOf(ask, streams, limit, matches, (row) => row);
  return { rows: rows.map(deliveryOf), next };
}

function streamsOf(filter: DeliveryFilter, after: Place, limit: number): readonly Asked[] {
  const everything = { from: null, before: null };
  return tablesOf(filter).flatMap((table) => {
    const [came, back] = [new Values(), new Values()];
    return [
      {
        text: asTheyCame(streamOf(table, filter, came), again, came, after, everything, limit),
        values: came,
      },
      {
        text: asTheyCameBack(streamOf(table, filter, back), again, back, after, limit),
        values: back,
      },
    ];
  });
}

function tablesOf({ state }: DeliveryFilter): readonly (keyof typeof columns)[] {
  if (state === null) return ['outbox', 'sent'];
  return state === 'waiting' || state === 'deferred' ? ['outbox'] : ['sent'];
}

function streamOf(
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
  };
}
