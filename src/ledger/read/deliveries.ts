/** A reply on its way, as its row tells it. */
import type { ChannelKey } from '../../domain/ids.ts';
import { isOnChannel } from '../../domain/records.ts';
import type { DeliveryFilter, DeliveryRow, DeliveryState } from '../../domain/records.ts';
import { failureOf } from './stored-json.ts';
import type { Flag } from './stories.ts';

/** A reply as its row tells it. state: 0 unsettled, 1 delivered, 2 dead. */
export type DeliveryRecord = {
  readonly id: string;
  readonly message: string | null;
  readonly channel: string;
  readonly createdAt: number;
  readonly state: number;
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly late: Flag;
  readonly possibleDuplicate: Flag;
  readonly failure: string | null;
};

export function fitsDelivery({ channel, state }: DeliveryFilter, row: DeliveryRecord): boolean {
  return (
    isOnChannel(row.channel as ChannelKey, channel) && (state === null || stateOf(row) === state)
  );
}

function stateOf({ state, dueAt }: DeliveryRecord): DeliveryState {
  if (state === 1) return 'delivered';
  if (state === 2) return 'dead';
  return dueAt === null ? 'waiting' : 'deferred';
}

export function deliveryOf(told: DeliveryRecord): DeliveryRow {
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
    possibleDuplicate: Boolean(told.possibleDuplicate),
    late: Boolean(told.late),
    failure: state === 'delivered' ? null : failureOf(told.failure),
  };
}
