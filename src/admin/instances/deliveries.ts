/** Whether replies arrive, of all instances: their tries are added up, whoever made them. */
import { channelTypeOf, type ChannelKey } from '../../domain/ids.ts';
import type { TryCounts, TryReason } from '../../telemetry/delivery-meters.ts';
import type { DeliveryStatus } from '../deliveries.ts';
import { backlogOf } from './merging.ts';
import type { DeliverySummary } from './delivery-report.ts';
import type { Whole } from './whole.ts';

/** While less than this share fails of what all of them tried, the channel as a whole works. */
const workingShare = 0.1;
const reasonsSummary = 10;

export function deliveriesOf(whole: Pick<Whole, 'reports' | 'rows'>): DeliveryStatus[] {
  const told = new Map<string, DeliverySummary[]>();
  for (const { report } of whole.reports) {
    for (const one of report.deliveries ?? []) {
      told.set(one.channel, [...(told.get(one.channel) ?? []), one]);
    }
  }
  const waiting = new Map(backlogOf(whole).map(({ channel, outbox }) => [channel, outbox]));
  const oldest = oldestOf(whole);
  const waits = waiting.entries().filter(([, rows]) => rows > 0);
  const channels = new Set([...told.keys(), ...waits.map(([channel]) => channel)]);
  return [...channels].map((channel) => {
    const all = told.get(channel) ?? [];
    const rows = waiting.get(channel) ?? 0;
    return {
      channel,
      ...stateOf(all, rows),
      minute: sumOf(all.map(({ minute }) => minute)),
      fiveMinutes: sumOf(all.map(({ fiveMinutes }) => fiveMinutes)),
      reasons: reasonsOf(all),
      waiting: rows,
      oldestAt: rows === 0 ? null : (oldest.get(channel) ?? null),
    };
  });
}

/** It fails where one instance says so, and what the others tried does not show the contrary. */
function stateOf(
  all: readonly DeliverySummary[],
  waiting: number,
): Pick<DeliveryStatus, 'state' | 'since'> {
  const since = all.flatMap(({ failingSince }) => failingSince ?? []);
  const lately = sumOf(all.map(({ minute }) => minute));
  const isQuiet = sumOf(all.map(({ fiveMinutes }) => fiveMinutes)).tried === 0;
  const others = sumOf(all.flatMap((one) => (one.failingSince === null ? one.minute : [])));
  const works = others.tried > 0 && lately.failed / lately.tried < workingShare;
  if (since.length > 0 && !works && !(isQuiet && waiting === 0)) {
    return { state: 'failing', since: Math.min(...since) };
  }
  return { state: isQuiet ? 'unknown' : 'arriving', since: null };
}

function sumOf(counts: readonly TryCounts[]): TryCounts {
  return counts.reduce(
    (sum, { tried, failed }) => ({ tried: sum.tried + tried, failed: sum.failed + failed }),
    { tried: 0, failed: 0 },
  );
}

function reasonsOf(all: readonly DeliverySummary[]): TryReason[] {
  const sums = new Map<string, TryReason>();
  for (const one of all.flatMap(({ reasons }) => reasons)) {
    const key = `${one.code} ${one.status}`;
    const sum = sums.get(key);
    const minute = one.minute + (sum?.minute ?? 0);
    const fiveMinutes = one.fiveMinutes + (sum?.fiveMinutes ?? 0);
    sums.set(key, { ...one, minute, fiveMinutes });
  }
  const most = (a: TryReason, b: TryReason): number =>
    b.minute - a.minute || b.fiveMinutes - a.fiveMinutes;
  return [...sums.values()].toSorted(most).slice(0, reasonsSummary);
}

/** Of the rows of all where they are counted; else of what each instance has in hand. */
function oldestOf({ reports, rows }: Pick<Whole, 'reports' | 'rows'>): Map<string, number> {
  const found =
    rows === null
      ? reports.flatMap(({ report }) => report.deliveries ?? [])
      : rows.map(({ key, oldestReplyAt }) => {
          return { channel: channelTypeOf(key as ChannelKey), oldestAt: oldestReplyAt };
        });
  const oldest = new Map<string, number>();
  for (const { channel, oldestAt } of found) {
    if (oldestAt !== null) oldest.set(channel, Math.min(oldest.get(channel) ?? oldestAt, oldestAt));
  }
  return oldest;
}
