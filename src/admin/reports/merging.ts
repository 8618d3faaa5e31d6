/**
 * Merges the reports of all processes into one service. Numbers are sums of the last reports of the
 * live processes. An answer of the API calls a process an instance. For a state, the best source
 * counts:
 *
 * - of a messenger: the process that has its connection;
 * - of a provider, a model or a brain: all processes with recent calls or turns;
 * - of a part that every process has (the service itself, a channel that listens): the gravest
 *   state of the processes that are neither late nor stopping. Without any, the asked process.
 */
import { findKind, isMessengerType, type RunningType } from '../../channels/registry.ts';
import type { Config } from '../../config/config.ts';
import type { ChannelState } from '../../domain/event.ts';
import { fiveMinutesMs } from '../../lib/durations.ts';
import type { TurnedAway } from '../../domain/gate.ts';
import {
  channelTypeOf,
  completionsChannel,
  registeredNameOf,
  type ChannelKey,
  type ModelName,
} from '../../domain/ids.ts';
import { Histogram } from '../../lib/histogram.ts';
import type { RecentPair } from '../../lib/sliding-counts.ts';
import type {
  BacklogStatus,
  ChannelStatus,
  CountsStatus,
  InstanceStatus,
  PostStatus,
  Status,
  ThroughputStatus,
  WarningSummary,
} from '../admin.ts';
import { channelsIn } from '../channel-named.ts';
import type { Viewer } from '../http/auth.ts';
import { redactForReader } from '../http/request-guard.ts';
import {
  warningsMax,
  type Took,
  type Report,
  type DeliverySummary,
  type CallsReport,
  type Whole,
} from './report.ts';
import type { TryCounts, TryReason } from '../../telemetry/delivery-meters.ts';
import type { DeliveryStatus } from '../deliveries.ts';
import type { FailureKind } from '../../domain/failure.ts';
import {
  addWindows,
  emptyWindow,
  healthOfAll,
  standings,
  type HealthLevel,
} from '../../domain/health.ts';
import type {
  BrainMeters,
  CallResult,
  Meters,
  ModelMeters,
  ProviderMeters,
  Shown,
} from '../../telemetry/meters.ts';

export function histogramOf(tooks: readonly Took[]): Histogram {
  const all = new Histogram();
  for (const { counts, sumMs } of tooks) all.add(Histogram.of(counts, sumMs));
  return all;
}

export function sumOf({ reports }: Pick<Whole, 'reports'>, of: (report: Report) => number): number {
  return reports.reduce((sum, { report }) => sum + of(report), 0);
}

/** The throughput of all processes; an older release reports none. */
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

/** Dead letters and rows are of the whole ledger, so they are counted once. */
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

/** Sums by registered name, so all bots of a name are one row. */
export function backlogBy(rows: Report['backlog']): BacklogStatus[] {
  const byName = new Map<string, Mutable<BacklogStatus>>();
  for (const { channel: key, inbox, outbox, oldestAt, unroutable } of rows) {
    const channel = registeredNameOf(key);
    const sum = byName.get(channel) ?? { channel, inbox: 0, outbox: 0, unroutable: 0, oldestAt };
    sum.inbox += inbox;
    sum.outbox += outbox;
    sum.unroutable += unroutable;
    sum.oldestAt = Math.min(sum.oldestAt ?? oldestAt, oldestAt);
    byName.set(channel, sum);
  }
  return [...byName.values()];
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

/** Lists each warning once, with the instances that have it unless all do. */
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
      // A process that works alone lists each of its own warnings, even two with the same words.
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

/**
 * svc as a whole fails if one process fails that is neither late nor stopping, since all of them
 * can do the same.
 */
export function serviceHealth({
  deciding,
  members,
}: Pick<Whole, 'deciding' | 'members'>): Pick<Status, 'status' | 'reason'> {
  const failing = deciding.filter(({ report }) => report.health.status !== 'ok');
  const [first] = failing;
  if (first === undefined) return { status: 'ok', reason: null };
  const { reason } = first.report.health;
  const isEvery = failing.length === deciding.length;
  const where = members.length > 1 && !isEvery ? `instance ${first.id}: ` : '';
  return { status: 'failing', reason: `${where}${reason ?? 'why is not known'}` };
}

/** The senders that the gates of all processes turned away, newest first. */
export function turnedAwayBy(reports: Whole['reports']): readonly TurnedAway[] {
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

// Whether replies arrive, by the sum of all processes' tries.

/** If less than this share of all tries fails, the channel as a whole works. */
const workingShare = 0.05;
const reasonsSummary = 10;

export function deliveriesOf(whole: Pick<Whole, 'reports' | 'rows'>): DeliveryStatus[] {
  const byChannel = new Map<string, DeliverySummary[]>();
  for (const { report } of whole.reports) {
    for (const one of report.deliveries ?? []) {
      byChannel.set(one.channel, [...(byChannel.get(one.channel) ?? []), one]);
    }
  }
  const waiting = new Map(backlogOf(whole).map(({ channel, outbox }) => [channel, outbox]));
  const oldest = oldestOf(whole);
  const waits = waiting.entries().filter(([, rows]) => rows > 0);
  const channels = new Set([...byChannel.keys(), ...waits.map(([channel]) => channel)]);
  return [...channels].map((channel) => {
    const all = byChannel.get(channel) ?? [];
    const rows = waiting.get(channel) ?? 0;
    return {
      channel,
      ...stateOf(all, rows),
      minute: sumOfTries(all.map(({ minute }) => minute)),
      fiveMinutes: sumOfTries(all.map(({ fiveMinutes }) => fiveMinutes)),
      reasons: reasonsOf(all),
      waiting: rows,
      oldestAt: rows === 0 ? null : (oldest.get(channel) ?? null),
    };
  });
}

/** The channel fails if one process says so and the others' tries do not show the contrary. */
function stateOf(
  all: readonly DeliverySummary[],
  waiting: number,
): Pick<DeliveryStatus, 'state' | 'since' | 'someArrive'> {
  const since = all.flatMap(({ failingSince }) => failingSince ?? []);
  const lately = sumOfTries(all.map(({ minute }) => minute));
  const isQuiet = sumOfTries(all.map(({ fiveMinutes }) => fiveMinutes)).tried === 0;
  const others = sumOfTries(all.flatMap((one) => (one.failingSince === null ? one.minute : [])));
  const works = others.tried > 0 && lately.failed / lately.tried < workingShare;
  if (since.length > 0 && !works && !(isQuiet && waiting === 0)) {
    return { state: 'failing', since: Math.min(...since), someArrive: all.some(someArrive) };
  }
  if (isQuiet) return { state: 'unknown', since: null, someArrive: null };
  return { state: 'arriving', since: null, someArrive: true };
}

/** An older release reports only its tries. */
function someArrive(one: DeliverySummary): boolean {
  const isShown = one.minute.failed < one.minute.tried;
  return one.failingSince === null ? isShown : (one.someArrive ?? isShown);
}

function sumOfTries(counts: readonly TryCounts[]): TryCounts {
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

/** The oldest rows of the whole ledger if they were counted; else of the processes' own rows. */
function oldestOf({ reports, rows }: Pick<Whole, 'reports' | 'rows'>): Map<string, number> {
  const found =
    rows === null
      ? reports.flatMap(({ report }) => report.deliveries ?? [])
      : rows.map(({ key, oldestReplyAt }) => {
          return { channel: registeredNameOf(key as ChannelKey), oldestAt: oldestReplyAt };
        });
  const oldest = new Map<string, number>();
  for (const { channel, oldestAt } of found) {
    if (oldestAt !== null) oldest.set(channel, Math.min(oldest.get(channel) ?? oldestAt, oldestAt));
  }
  return oldest;
}

/** The merged meters of calls and turns of all processes. */
type MergedCalls = Pick<Meters, 'providers' | 'models' | 'brains'>;

export function mergedCalls({ reports }: Pick<Whole, 'reports'>): MergedCalls {
  const providers = new Map<string, ProviderSum>();
  const models = new Map<ModelName, ModelSum>();
  const brains = new Map<string, BrainSum>();
  for (const { report } of reports) {
    for (const summary of report.providers) {
      const { provider } = summary;
      const sum = providers.get(provider) ?? new ProviderSum();
      providers.set(provider, sum);
      sum.add(summary);
    }
    for (const summary of report.models) {
      const { model, provider } = summary;
      const sum = models.get(model) ?? new ModelSum(provider);
      models.set(model, sum);
      sum.add(summary);
    }
    for (const summary of report.brains ?? []) {
      const sum = brains.get(summary.brain) ?? new BrainSum();
      brains.set(summary.brain, sum);
      sum.add(summary);
    }
  }
  return { providers, models, brains };
}

type Calls = CallsReport['models'][number]['calls'];

class CallSums {
  readonly calls = new Map<CallResult, { readonly took: Histogram }>();

  protected addCalls(calls: Calls): void {
    for (const { result, took } of calls) {
      const sum = this.calls.get(result) ?? { took: new Histogram() };
      this.calls.set(result, sum);
      sum.took.add(histogramOf([took]));
    }
  }
}

class ModelSum extends CallSums implements ModelMeters {
  readonly provider: string;
  readonly #shown: Shown[] = [];
  last: FailureKind | null = null;
  window = emptyWindow;
  replies = 0;

  constructor(provider: string) {
    super();
    this.provider = provider;
  }

  get shown(): Shown {
    return mergedShown(this.#shown);
  }

  add({ calls, shown, last, window, replies }: CallsReport['models'][number]): void {
    this.addCalls(calls);
    if (window !== null) this.window = addWindows(this.window, window);
    this.replies += replies ?? 0;
    if (shown === null) return;
    if (last !== null && shown.shownAt >= this.shown.shownAt) this.last = last as FailureKind;
    this.#shown.push(readShown(shown));
  }
}

class ProviderSum extends CallSums implements ProviderMeters {
  readonly #shown: Shown[] = [];
  last: ProviderMeters['last'] = null;
  #lastAt = 0;

  get shown(): Shown {
    return mergedShown(this.#shown);
  }

  /** An older release reports only `health`, which is the result of its last call. */
  add({ calls, standing, health, shownAt }: CallsReport['providers'][number]): void {
    this.addCalls(calls);
    if (health === null) return;
    const { state, since, reason, model } = health;
    this.#shown.push(readShown({ standing: standing ?? state, since, shownAt }));
    if (reason === null || model === null || shownAt < this.#lastAt) return;
    this.#lastAt = shownAt;
    this.last = { reason: reason as FailureKind, model: model as ModelName };
  }
}

class BrainSum implements BrainMeters {
  readonly #shown: Shown[] = [];
  window = emptyWindow;

  get shown(): Shown {
    return mergedShown(this.#shown);
  }

  add({ shown, window }: NonNullable<CallsReport['brains']>[number]): void {
    this.window = addWindows(this.window, window);
    this.#shown.push(readShown(shown));
  }
}

/** A standing that this release does not know counts as unknown. */
function readShown(summary: { standing: string; since: number; shownAt: number }): Shown {
  return { ...summary, standing: standings.find((one) => one === summary.standing) ?? 'unknown' };
}

/** Leaves out results that are much older than the newest, since they say nothing about now. */
function mergedShown(all: readonly Shown[]): Shown {
  const known = all.filter(({ standing }) => standing !== 'unknown');
  if (known.length === 0) return all.toSorted((a, b) => b.since - a.since)[0] ?? unknownShown;
  const shownAt = Math.max(...known.map((one) => one.shownAt));
  const fresh = known.filter((one) => one.shownAt > shownAt - fiveMinutesMs);
  const standing = healthOfAll(fresh.map((one) => one.standing));
  return { standing, since: sinceOf(standing, fresh), shownAt };
}

/** A health holds since the last process joined, and `degraded` since the last that is not up. */
function sinceOf(standing: HealthLevel, all: readonly Shown[]): number {
  const joined = all.filter((one) => standing !== 'degraded' || one.standing !== 'up');
  return Math.max(...joined.map(({ since }) => since));
}

const unknownShown: Shown = { standing: 'unknown', since: 0, shownAt: 0 };

/** The instances, as the status shows them. */
export function instancesOf({ members }: Whole, asker: Viewer): InstanceStatus[] {
  return members.map(({ id, version, state, beganAt, toldAt, posts, report }) => {
    const listeners = (report?.listeners ?? []).map((one) => {
      return { of: one.name, address: listenerAddress(one, asker) };
    });
    const admin = report?.admin ?? null;
    return {
      id,
      state,
      reason: reasonOf(state, report),
      version,
      revision: report?.revision ?? null,
      startedAt: Math.round(beganAt),
      toldAt,
      host: report?.host ?? null,
      addresses: [
        ...listeners,
        ...(admin === null ? [] : [{ of: 'admin', address: `http://${admin}` }]),
      ],
      posts: posts.map(postStatus),
      perMinute: report?.perMinute ?? null,
      inHand: report?.inHand ?? null,
      waiting: report?.waiting ?? null,
    };
  });
}

/**
 * Names a lease: a messenger by its own name, or else by the platform's name; another by its own
 * word.
 */
function postStatus(post: string): PostStatus {
  const key = post as ChannelKey;
  const name = registeredNameOf(key);
  const kind = findKind(channelTypeOf(key));
  if (kind !== undefined && name !== kind.type) return { post, name };
  const word = kind?.name ?? post;
  return { post, name: word.charAt(0).toUpperCase() + word.slice(1) };
}

function reasonOf(state: InstanceStatus['state'], report: Report | null): string | null {
  if (state === 'up' && report === null) return 'This version cannot read what it tells of itself.';
  return state === 'failing' || state === 'stopping' ? (report?.health.reason ?? null) : null;
}

type Listens = { readonly type: string; readonly bind: string; readonly path: string };

/** The address that messages are sent to. A configured path may be a secret. */
export function listenerAddress({ type, bind, path }: Listens, asker: Viewer): string {
  const isFixed = type === completionsChannel || path === findKind(type)?.listener?.path;
  const mayTell = asker === 'operator' || isFixed;
  return `http://${bind}${mayTell ? path : ''}`;
}

// Merges the states of each channel over all processes.

/** The gravest first. */
const gravestFirst: readonly ChannelState[] = ['failed', 'degraded', 'stopped', 'starting', 'up'];

type HealthParts = Pick<ChannelStatus, 'state' | 'since' | 'reason' | 'lastSeenAt' | 'instance'>;
type ChannelReport = { readonly id: number | null; readonly view: Report['channels'][number] };

/** @param config of the asked process; the others have the same, except during a change */
export function channelsOf(
  whole: Whole,
  config: Pick<Config, 'channels' | 'routes' | 'completions'>,
  asker: Viewer,
): ChannelStatus[] {
  return channelsIn(config).map(({ name, type }) => {
    const own = config.routes.filter((route) => route.channel === name);
    const routed = (own.find(({ when }) => when === null) ?? own[0])?.brain ?? null;
    const brain = name === completionsChannel ? config.completions!.brains.join(', ') : routed;
    const listener = whole.own.report.listeners.find((one) => one.name === name);
    return {
      name,
      type: type as RunningType,
      ...healthPartsOf(whole, name, type),
      brain,
      address: listener === undefined ? null : listenerAddress(listener, asker),
      addresses: addressesOf(whole, name, asker),
    };
  });
}

function addressesOf(
  { members }: Whole,
  name: string,
  asker: Viewer,
): NonNullable<ChannelStatus['addresses']> {
  return members.flatMap(({ id, report }) =>
    (report?.listeners ?? [])
      .filter((one) => one.name === name)
      .map((one) => ({ instance: id, address: listenerAddress(one, asker) })),
  );
}

function healthPartsOf(whole: Whole, name: string, type: string): HealthParts {
  const channelReports = channelReportsOf(whole.deciding, name);
  const own = channelReportsOf([whole.own], name)[0];
  if (own === undefined) {
    const reason = 'No route leads from it.';
    return { state: 'unrouted', since: null, reason, lastSeenAt: null, instance: null };
  }
  if (whole.members.length > 0 && isMessengerType(type))
    return ofMessenger(whole, channelReports, own);
  return gravestOf(channelReports, own);
}

function channelReportsOf(reports: Whole['reports'], name: string): ChannelReport[] {
  return reports.flatMap(({ id, report }) => {
    const view = report.channels.find((one) => one.name === name);
    return view === undefined ? [] : [{ id, view }];
  });
}

/** The holder of the lease has the connection. The others only wait for it. */
function ofMessenger(
  { members, reports }: Whole,
  channelReports: readonly ChannelReport[],
  own: ChannelReport,
): HealthParts {
  for (const { id, posts, beganAt } of members) {
    const known = channelReportsOf(reports, own.view.name).find((one) => one.id === id);
    const key = (known ?? own).view.key;
    if (key === null || !posts.includes(key)) continue;
    if (known !== undefined) return { ...stateFieldsOf(known), instance: id };
    return { state: 'starting', since: beganAt, reason: null, lastSeenAt: null, instance: id };
  }
  const gravest = gravestOf(channelReports, own);
  if (gravest.state === 'failed' || gravest.state === 'degraded') return gravest;
  const reason = 'No instance has its connection yet.';
  return { ...gravest, state: 'starting', reason, instance: null };
}

/** Names the instance unless all have the same state. */
function gravestOf(channelReports: readonly ChannelReport[], own: ChannelReport): HealthParts {
  const graver = (one: ChannelReport, other: ChannelReport): ChannelReport =>
    gravestFirst.indexOf(other.view.state) < gravestFirst.indexOf(one.view.state) ? other : one;
  const gravest = channelReports.reduce(
    graver,
    channelReports.find(({ id }) => id === own.id) ?? channelReports[0] ?? own,
  );
  const isSame = channelReports.every(({ view }) => view.state === gravest.view.state);
  return { ...stateFieldsOf(gravest), instance: isSame ? null : gravest.id };
}

function stateFieldsOf({ view: { state, since, reason, lastSeenAt } }: ChannelReport) {
  return { state, since, reason, lastSeenAt };
}
