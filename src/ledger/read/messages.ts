/** A message in a list, as its row tells it. */
import type { ChannelKey, ModelName } from '../../domain/ids.ts';
import { isOnChannel, messageStates, totalOf } from '../../domain/records.ts';
import type { MessageFilter, MessageRow, ReplyCounts } from '../../domain/records.ts';
import { turnOutcomes } from '../../domain/trace.ts';

/** A message as its row tells it. state: 0 unsettled, 1 settled, 2 dead. */
export type MessageSummary = {
  readonly id: string;
  readonly channel: string;
  readonly acceptedAt: number;
  readonly state: number;
  readonly settledAt: number | null;
  readonly brain: string | null;
  readonly outcome: string | null;
  readonly model: string | null;
};

export function fitsMessage(filter: MessageFilter, row: MessageSummary): boolean {
  return (
    isOnChannel(row.channel as ChannelKey, filter.channel) &&
    (filter.brain === null || row.brain === filter.brain) &&
    (filter.outcome === null || row.outcome === filter.outcome) &&
    (filter.state === null || messageStates[row.state] === filter.state)
  );
}

/** A reply to it. state: as of a message; `at`: when it was settled. */
export type ReplySummary = { readonly state: number; readonly at: number | null };

/** @param sent the replies to it */
export function messageRowOf(told: MessageSummary, sent: readonly ReplySummary[]): MessageRow {
  const { id, acceptedAt, settledAt, brain } = told;
  const state = messageStates[told.state] ?? 'waiting';
  const counted = (wanted: number): number => sent.filter((one) => one.state === wanted).length;
  const replies: ReplyCounts = { waiting: counted(0), delivered: counted(1), dead: counted(2) };
  const ends = sent.flatMap(({ state: how, at }) => (how === 1 && at !== null ? [at] : []));
  return {
    id,
    channel: told.channel as ChannelKey,
    brain,
    acceptedAt,
    state,
    outcome: turnOutcomes.find((known) => known === told.outcome) ?? null,
    model: told.model as ModelName | null,
    settledAt,
    totalMs: totalOf({ state, acceptedAt }, replies, ends.length === 0 ? null : Math.max(...ends)),
    replies,
  };
}
