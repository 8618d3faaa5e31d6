/**
 * Replies on their way, in the order in which they came into the outbox, newest first. Replies that
 * wait and that died are found by an index; the channel of each is looked at.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Page, PageAsked } from '../../../domain/page.ts';
import type { DeliveryFilter, DeliveryRow } from '../../../domain/records.ts';
import { emptyPage, limitOf, nextOf, keyAfter, type PageKey } from '../../pages.ts';
import { deliveryOf, fitsDelivery, type DeliveryRecord } from '../../read/deliveries.ts';
import { readPage } from './read-page.ts';

type Told = DeliveryRecord & { readonly seq: number };

const columns =
  'SELECT seq, id, message_id AS message, channel, created_at AS createdAt, state, attempts, ' +
  'due_at AS dueAt, late, possible_duplicate AS possibleDuplicate, failure FROM outbox';
const behind = 'seq < ? ORDER BY seq DESC';
const sources = {
  unsettled: `${columns} INDEXED BY outbox_unsettled WHERE state = 0 AND ${behind}`,
  dead: `${columns} INDEXED BY outbox_dead_seq WHERE state = 2 AND ${behind}`,
  all: `${columns} WHERE ${behind}`,
} as const;

/** Before every row. */
const newest: [number] = [Number.MAX_SAFE_INTEGER];

export function listDeliveries(
  db: DatabaseSync,
  filter: DeliveryFilter,
  asked: PageAsked,
): Page<DeliveryRow> {
  const after = keyAfter(asked, newest);
  if (after === null) return emptyPage;
  const replies = db.prepare(sourceOf(filter)).iterate(...after);
  const candidates = replies as Iterable<unknown> as Iterable<Told>;
  const found = readPage(candidates, limitOf(asked), (row) => fitsDelivery(filter, row), placeOf);
  return {
    rows: found.rows.map(deliveryOf),
    next: found.next === null ? null : nextOf(found.next),
  };
}

function placeOf({ seq }: Told): PageKey {
  return [seq];
}

function sourceOf({ state }: DeliveryFilter): string {
  if (state === 'waiting' || state === 'deferred') return sources.unsettled;
  return state === 'dead' ? sources.dead : sources.all;
}
