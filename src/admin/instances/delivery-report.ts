/** What an instance tells of each channel's replies: whether they arrive, and the oldest. */
import type { DeliveryMeters } from '../../telemetry/delivery-meters.ts';
import type { FailureKind } from '../../domain/failure.ts';
import { channelTypeOf } from '../../domain/ids.ts';
import type { Meters } from '../../telemetry/meters.ts';
import type { ChannelBacklog } from '../../ledger/ledger.ts';
import { list, maybeNumber, number, object, text } from '../schemas/schema.ts';
import type { Described, IdText } from '../schemas/schema.ts';

const tries = object({ tried: number, failed: number });

export const deliverySummary = object({
  channel: text,
  failingSince: maybeNumber,
  minute: tries,
  fiveMinutes: tries,
  reasons: list(
    object({
      code: text as IdText<FailureKind>,
      status: maybeNumber,
      minute: number,
      fiveMinutes: number,
    }),
  ),
  /** When the oldest reply was made that it has in hand; null: it has none. */
  oldestAt: maybeNumber,
});

export type DeliverySummary = Described<typeof deliverySummary>;

const quiet: DeliveryMeters = {
  failingSince: null,
  minute: { tried: 0, failed: 0 },
  fiveMinutes: { tried: 0, failed: 0 },
  reasons: [],
};

/** By channel type: all bots of a messenger in one. */
export function toldDeliveries(
  meters: Pick<Meters, 'deliveries'>,
  backlog: readonly ChannelBacklog[],
): DeliverySummary[] {
  const known = meters.deliveries();
  const oldest = new Map<string, number>();
  for (const { channel, oldestReplyAt } of backlog) {
    if (oldestReplyAt === null) continue;
    const type = channelTypeOf(channel);
    oldest.set(type, Math.min(oldest.get(type) ?? oldestReplyAt, oldestReplyAt));
  }
  return [...new Set([...known.keys(), ...oldest.keys()])].map((channel) => {
    return { channel, ...(known.get(channel) ?? quiet), oldestAt: oldest.get(channel) ?? null };
  });
}
