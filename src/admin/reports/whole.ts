/**
 * Merges all instances on the ledger into one service. Numbers are sums of the living instances'
 * last reports. For a state, the best source counts:
 *
 * - of a messenger: the instance that has its connection;
 * - of a provider, a model or a brain: all instances with recent calls or turns;
 * - of a part that every instance has (the service itself, a channel that listens): the gravest
 * state of the instances that are neither late nor stopping. Without any, the asked instance.
 */
import { findKind, isListener, isMessenger, type ChannelConfig } from '../../channels/registry.ts';
import { channelTypeOf, type ChannelKey } from '../../domain/ids.ts';
import type { AdminPorts, InstanceStatus, PostStatus, ChannelStatus } from '../admin.ts';
import type { InstanceState } from '../schemas/status.ts';
import type { Viewer } from '../http/auth.ts';
import { lateMs, type KeptRows, type LivingInstance, type Place } from './instances.ts';
import { readReport, reportOf, type Report } from './report.ts';
import type { Config } from '../../config/config.ts';
import type { ChannelState } from '../../domain/event.ts';

/** An instance and its last report. */
export type Member = Omit<LivingInstance, 'lastReport'> & {
  readonly state: InstanceState;
  /** null: there is no report yet, or this release cannot read it. */
  readonly report: Report | null;
  /** The time of the report in milliseconds since 1970; null: there is none yet. */
  readonly toldAt: number | null;
};

/** A report and its instance; `id` null: the instance works alone. */
export type InstanceReport = { readonly id: number | null; readonly report: Report };

export type Whole = {
  /** The current report of the asked instance. */
  readonly own: InstanceReport;
  /** In the order of their starts; empty: this one works alone. */
  readonly members: readonly Member[];
  /** The reports of all members, including this one's. */
  readonly reports: readonly InstanceReport[];
  /** The reports that decide states. */
  readonly deciding: readonly InstanceReport[];
  /** All unsettled rows; null: each report has its own. */
  readonly rows: readonly KeptRows[] | null;
  /** The time of the oldest report here, in milliseconds since 1970; null: this one works alone. */
  readonly asOf: number | null;
};

type Ports = Parameters<typeof reportOf>[0] & Pick<AdminPorts, 'instances' | 'now'>;

const nowhere: Place = { host: '', admin: null };

export async function wholeOf(ports: Ports): Promise<Whole> {
  const { instances } = ports;
  if (instances === null) return alone(ports);
  const { living, rows, rowsAgeMs } = await instances.reports();
  if (living.length === 0) return alone(ports);
  const now = ports.now();
  const own: InstanceReport = { id: instances.own, report: reportOf(ports, instances.place()) };
  const members = living.map((one) => {
    return one.id === own.id ? ownMember(one, own.report, now) : memberOf(one, now);
  });
  const reports = members.flatMap(({ id, report }) => (report === null ? [] : [{ id, report }]));
  const up = new Set<number | null>(
    members.filter(({ state }) => state === 'up' || state === 'failing').map(({ id }) => id),
  );
  const deciding = reports.filter(({ id }) => up.has(id));
  const reportTimes = members.flatMap(({ toldAt }) => toldAt ?? []);
  const asOf = Math.min(now, ...reportTimes, ...(rows === null ? [] : [now - rowsAgeMs]));
  return {
    own,
    members,
    reports: reports.some(({ id }) => id === own.id) ? reports : [...reports, own],
    deciding: deciding.length === 0 ? [own] : deciding,
    rows,
    asOf: Math.round(asOf),
  };
}

function alone(ports: Ports): Whole {
  const own: InstanceReport = { id: null, report: reportOf(ports, nowhere) };
  return { own, members: [], reports: [own], deciding: [own], rows: null, asOf: null };
}

function ownMember(one: LivingInstance, report: Report, now: number): Member {
  const { id, version, beganAt, posts } = one;
  return { id, version, beganAt, posts, report, toldAt: now, state: stateOf(report) };
}

function memberOf(
  { id, version, beganAt, posts, lastReport }: LivingInstance,
  now: number,
): Member {
  const what = { id, version, beganAt, posts };
  if (lastReport === null) {
    const state = now - beganAt > lateMs ? 'late' : 'starting';
    return { ...what, report: null, toldAt: null, state };
  }
  const report = readReport(lastReport.report);
  const toldAt = Math.round(now - lastReport.ageMs);
  const state = lastReport.ageMs > lateMs ? 'late' : report === null ? 'up' : stateOf(report);
  return { ...what, report, toldAt, state };
}

function stateOf({ health: { status } }: Report): InstanceState {
  return status === 'ok' ? 'up' : status;
}

/** The instances, as the status shows them. */
export function instancesOf({ members }: Whole, asker: Viewer): InstanceStatus[] {
  return members.map(({ id, version, state, beganAt, toldAt, posts, report }) => {
    const listeners = (report?.listeners ?? []).map((one) => {
      return { of: one.type, address: listenerAddress(one, asker) };
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

/** Names a lease: a messenger by the platform's name, another by its own word. */
function postStatus(post: string): PostStatus {
  const word = findKind(channelTypeOf(post as ChannelKey))?.name ?? post;
  return { post, name: word.charAt(0).toUpperCase() + word.slice(1) };
}

function reasonOf(state: InstanceState, report: Report | null): string | null {
  if (state === 'up' && report === null) return 'This version cannot read what it tells of itself.';
  return state === 'failing' || state === 'stopping' ? (report?.health.reason ?? null) : null;
}

type Listens = { readonly type: string; readonly bind: string; readonly path: string };

/** The address that messages are sent to. A configured path may be a secret. */
export function listenerAddress({ type, bind, path }: Listens, asker: Viewer): string {
  const mayTell = asker === 'operator' || path === findKind(type)?.listener?.path;
  return `http://${bind}${mayTell ? path : ''}`;
}

// Merges the states of each channel over all instances.

/** The gravest first. */
const gravestFirst: readonly ChannelState[] = ['failed', 'degraded', 'stopped', 'starting', 'up'];

type HealthParts = Pick<ChannelStatus, 'state' | 'since' | 'reason' | 'lastSeenAt' | 'instance'>;
type ChannelReport = { readonly id: number | null; readonly view: Report['channels'][number] };

/** @param config of the asked instance; the others have the same, except during a change */
export function channelsOf(
  whole: Whole,
  { channels, routes }: Pick<Config, 'channels' | 'routes'>,
  asker: Viewer,
): ChannelStatus[] {
  return channels.map((channel) => {
    const { type } = channel;
    const brain = routes.find((route) => route.channel === type)?.brain ?? null;
    const listens = { type, bind: '', path: '', ...listensAt(channel) };
    return {
      type,
      ...standingOf(whole, channel),
      brain,
      address: isListener(channel) ? listenerAddress(listens, asker) : null,
      addresses: addressesOf(whole, type, asker),
    };
  });
}

function listensAt(channel: ChannelConfig): { bind: string; path: string } | null {
  return isListener(channel) ? { bind: channel.bind.text, path: channel.path } : null;
}

function addressesOf(
  { members }: Whole,
  type: string,
  asker: Viewer,
): NonNullable<ChannelStatus['addresses']> {
  return members.flatMap(({ id, report }) =>
    (report?.listeners ?? [])
      .filter((one) => one.type === type)
      .map((one) => ({ instance: id, address: listenerAddress(one, asker) })),
  );
}

function standingOf(whole: Whole, channel: ChannelConfig): HealthParts {
  const channelReports = channelReportsOf(whole.deciding, channel.type);
  const own = channelReportsOf([whole.own], channel.type)[0];
  if (own === undefined) {
    const reason = 'No route leads from it.';
    return { state: 'unrouted', since: null, reason, lastSeenAt: null, instance: null };
  }
  if (whole.members.length > 0 && isMessenger(channel))
    return ofMessenger(whole, channelReports, own);
  return gravestOf(channelReports, own);
}

function channelReportsOf(reports: readonly InstanceReport[], type: string): ChannelReport[] {
  return reports.flatMap(({ id, report }) => {
    const view = report.channels.find((one) => one.type === type);
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
    const known = channelReportsOf(reports, own.view.type).find((one) => one.id === id);
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
