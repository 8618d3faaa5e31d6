/**
 * Replies on their way, in the order in which they came into the outbox, newest first. Replies that
 * wait and that died are found by an index; the channel of each is looked at.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import { isOnChannel } from '../../../domain/records.ts';
import type { DeliveryFilter, DeliveryRow, DeliveryState } from '../../../domain/records.ts';
import { emptyPage, limitOf, nextOf, keyAfter, type PageKey } from '../../pages.ts';
import { failureOf } from './stored-json.ts';
import { readPage } from './read-page.ts';

type Told = {
  readonly seq: number;
  readonly id: string;
  readonly message: string | null;
  readonly channel: string;
  readonly createdAt: number;
  readonly state: number;
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly late: number;
  readonly possibleDuplicate: number;
  readonly failure: string | null;
};

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
  const found = readPage(candidates, limitOf(asked), (row) => fits(filter, row), placeOf);
  return { rows: found.rows.map(rowOf), next: found.next === null ? null : nextOf(found.next) };
}

function placeOf({ seq }: Told): PageKey {
  return [seq];
}

function sourceOf({ state }: DeliveryFilter): string {
  if (state === 'waiting' || state === 'deferred') return sources.unsettled;
  return state === 'dead' ? sources.dead : sources.all;
}

function fits({ channel, state }: DeliveryFilter, row: Told): boolean {
  return (
    isOnChannel(row.channel as ChannelKey, channel) && (state === null || stateOf(row) === state)
  );
}

function stateOf({ state, dueAt }: Told): DeliveryState {
  if (state === 1) return 'delivered';
  if (state === 2) return 'dead';
  return dueAt === null ? 'waiting' : 'deferred';
}

function rowOf(told: Told): DeliveryRow {
  const { id, message, createdAt, attempts, dueAt } = told;
  const state = stateOf(told);
  return {
    id,
    message,
    channel: told.channel as ChannelKey,
    createdAt,
    state,
    // The column counts the tries that failed.
    attempts: attempts + (state === 'delivered' ? 1 : 0),
    nextAt: state === 'deferred' ? dueAt : null,
    possibleDuplicate: told.possibleDuplicate === 1,
    late: told.late === 1,
    failure: state === 'delivered' ? null : failureOf(told.failure),
  };
}
