/** What the instances counted, as the counts of one. Counts are since the start of each. */
import type { TurnedAway } from '../../domain/gate.ts';
import { channelTypeOf, type ChannelKey } from '../../domain/ids.ts';
import { Histogram } from '../../lib/histogram.ts';
import type { RecentPair } from '../../lib/recent-count.ts';
import type {
  BacklogStatus,
  CountsStatus,
  Status,
  ThroughputStatus,
  WarningSummary,
} from '../admin.ts';
import type { Viewer } from '../http/auth.ts';
import { redactForReader } from '../http/redact.ts';
import type { Took } from './call-report.ts';
import { warningsMax, type Report } from './report.ts';
import type { Told, Whole } from './whole.ts';

export function histogramOf(tooks: readonly Took[]): Histogram {
  const all = new Histogram();
  for (const { counts, sumMs } of tooks) all.add(Histogram.of(counts, sumMs));
  return all;
}

export function sumOf({ reports }: Pick<Whole, 'reports'>, of: (report: Report) => number): number {
  return reports.reduce((sum, { report }) => sum + of(report), 0);
}

/** What went which way at all instances; one of an older release tells none of it. */
export function throughputOf({ reports }: Pick<Whole, 'reports'>): ThroughputStatus {
  const summed = (of: 'answered' | 'asked') =>
    sumWays(reports.flatMap(({ report }) => report.ways?.[of] ?? []));
  return {
    answered: summed('answered').map(({ from, to, count }) => {
      return { channel: from, brain: to, perMinute: count };
    }),
    asked: summed('asked').map(({ from, to, count }) => {
      return { brain: from, model: to, perMinute: count };
    }),
  };
}

function sumWays(ways: readonly RecentPair[]): readonly RecentPair[] {
  const sums = new Map<string, RecentPair>();
  for (const way of ways) {
    const key = JSON.stringify([way.from, way.to]);
    sums.set(key, { ...way, count: way.count + (sums.get(key)?.count ?? 0) });
  }
  return [...sums.values()];
}

/** Dead letters are kept once for all, so they are counted once; and so are rows. */
export function countsOf(whole: Whole): CountsStatus {
  const { own, rows } = whole;
  const count = (name: keyof Report['counts']): number =>
    sumOf(whole, ({ counts }) => counts[name]);
  const inFlight = sumOf(whole, ({ inHand }) => inHand);
  const kept = rows?.reduce((sum, { inbox, outbox }) => sum + inbox + outbox, 0);
  const delivered = count('delivered');
  return {
    accepted: count('accepted'),
    duplicates: count('duplicates'),
    refused: count('refused'),
    settled: delivered + count('deadOut'),
    delivered,
    deadLetters: count('deadIn') + count('deadOut'),
    faults: count('faults'),
    waiting:
      kept === undefined ? sumOf(whole, ({ waiting }) => waiting) : Math.max(0, kept - inFlight),
    inFlight,
    deadLettersKept: own.report.deadLettersKept,
  };
}

export function backlogOf(whole: Pick<Whole, 'reports' | 'rows'>): BacklogStatus[] {
  return backlogBy(backlogRows(whole));
}

/** By channel type: all bots of a messenger in one. */
export function backlogBy(rows: Report['backlog']): BacklogStatus[] {
  const byType = new Map<string, Mutable<BacklogStatus>>();
  for (const { channel: key, inbox, outbox, oldestAt, unroutable } of rows) {
    const channel = channelTypeOf(key);
    const sum = byType.get(channel) ?? { channel, inbox: 0, outbox: 0, unroutable: 0, oldestAt };
    sum.inbox += inbox;
    sum.outbox += outbox;
    sum.unroutable += unroutable;
    sum.oldestAt = Math.min(sum.oldestAt ?? oldestAt, oldestAt);
    byType.set(channel, sum);
  }
  return [...byType.values()];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function backlogRows({ reports, rows }: Pick<Whole, 'reports' | 'rows'>): Report['backlog'] {
  if (rows === null) return reports.flatMap(({ report }) => report.backlog);
  const served = new Set(
    reports.flatMap(({ report }) => report.channels.flatMap(({ key }) => key ?? [])),
  );
  return rows.map(({ key, inbox, outbox, oldestAt }) => {
    const unroutable = served.has(key) ? 0 : inbox + outbox;
    return { channel: key as ChannelKey, inbox, outbox, oldestAt, unroutable };
  });
}

/** Each warning once, with the instances that have it where not all do. */
export function warningsOf(
  whole: Pick<Whole, 'reports' | 'members'>,
  asker: Viewer,
): Pick<Status, 'warnings' | 'warningsLeftOut'> {
  const met = new Map<string, { readonly one: WarningSummary; readonly has: Set<number> }>();
  let isMore = 0;
  for (const { id, report } of whole.reports) {
    isMore = Math.max(isMore, report.warningsLeftOut);
    for (const [at, warning] of report.warnings.entries()) {
      const one = asker === 'operator' ? warning : redactForReader(warning);
      const { code, path, message, remedy } = one;
      // An instance that works alone tells each of its own, also two of the same words.
      const key = JSON.stringify([code, path, message, remedy, id === null ? at : null]);
      const all = met.get(key) ?? { one: { ...one, instances: null }, has: new Set() };
      met.set(key, all);
      if (id !== null) all.has.add(id);
    }
  }
  const warnings = [...met.values()].map(({ one, has }): WarningSummary => {
    const isEvery = whole.reports.every(({ id }) => id === null || has.has(id));
    return isEvery ? one : { ...one, instances: [...has].toSorted((a, b) => a - b) };
  });
  const beyond = Math.max(0, warnings.length - warningsMax);
  return { warnings: warnings.slice(0, warningsMax), warningsLeftOut: beyond + isMore };
}

/** svc as a whole fails where an instance that stands fails: what one can do, all can. */
export function serviceHealth({
  standing,
  members,
}: Pick<Whole, 'standing' | 'members'>): Pick<Status, 'status' | 'reason'> {
  const failing = standing.filter(({ report }) => report.health.status !== 'ok');
  const [first] = failing;
  if (first === undefined) return { status: 'ok', reason: null };
  const { reason } = first.report.health;
  const isEvery = failing.length === standing.length;
  const where = members.length > 1 && !isEvery ? `instance ${first.id}: ` : '';
  return { status: 'failing', reason: `${where}${reason ?? 'why is not known'}` };
}

/** Whom the gates of all instances turned away, newest first. */
export function turnedAwayBy(reports: readonly Told[]): readonly TurnedAway[] {
  const rows = new Map<string, TurnedAway>();
  for (const { report } of reports) {
    for (const row of report.turnedAway) {
      const key = `${row.channel} ${row.reason} ${row.sender}`;
      const before = rows.get(key);
      const count = row.count + (before?.count ?? 0);
      rows.set(key, { ...row, count, at: Math.max(row.at, before?.at ?? row.at) });
    }
  }
  return [...rows.values()].toSorted((one, other) => other.at - one.at);
}
