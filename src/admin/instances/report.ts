/**
 * What an instance tells the others of itself: what it counted since its start, how its parts
 * stand, and nothing that anybody wrote. Another one may be of another release, so words that a
 * release may add are plain texts here, and fields are only ever added, as ones that may be null.
 */
import { isListener } from '../../channels/registry.ts';
import type { ChannelState } from '../../domain/event.ts';
import type { TurnedAwayReason } from '../../domain/gate.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { ChannelMeters } from '../../telemetry/meters.ts';
import type { AdminPorts, PlanView } from '../admin.ts';
import { list, maybe, maybeNumber, maybeText, number, object } from '../schemas/schema.ts';
import {
  Misshapen,
  objectWith,
  oneOf,
  only,
  read,
  text,
  type Described,
  type IdText,
} from '../schemas/schema.ts';
import { askedFields, askedOf, askedSince, modelsSummary, took, tookBy } from './call-report.ts';
import { deliverySummary, toldDeliveries } from './delivery-report.ts';
import type { Place } from './instances.ts';

const key = text as IdText<ChannelKey>;

const ways = list(object({ from: text, to: text, count: number }));

const reportFields = {
  version: text,
  revision: text,
  host: text,
  admin: maybeText,
  health: object({ status: oneOf('ok', 'failing', 'stopping'), reason: maybeText }),
  perMinute: number,
  channels: list(
    object({
      key: maybeText,
      type: text,
      state: text as IdText<ChannelState>,
      since: number,
      reason: maybeText,
      lastSeenAt: maybeNumber,
    }),
  ),
  listeners: list(object({ type: text, bind: text, path: text })),
  ...askedFields,
  backlog: list(
    object({ channel: key, inbox: number, outbox: number, oldestAt: number, unroutable: number }),
  ),
  counts: object({
    accepted: number,
    duplicates: number,
    refused: number,
    delivered: number,
    deadIn: number,
    deadOut: number,
    faults: number,
  }),
  /** null: it is of a release that does not tell it. */
  deliveries: maybe(list(deliverySummary)),
  waiting: number,
  inHand: number,
  deadLettersKept: number,
  times: object({ waited: took, turns: took, endToEnd: took }),
  warnings: list(object({ code: text, path: text, message: text, remedy: text })),
  warningsLeftOut: number,
  turnedAway: list(
    object({
      channel: key,
      sender: text,
      reason: text as IdText<TurnedAwayReason>,
      count: number,
      at: number,
    }),
  ),
};

/** What an older release does not tell is left out by it. */
const reportSchema = objectWith(reportFields, {
  ...askedSince,
  ways: maybe(object({ answered: ways, asked: ways })),
});

export type Report = Described<typeof reportSchema>;
/** As many warnings as a status tells. */
export const warningsMax = 100;
/** So many of those who were turned away are told to other instances, the newest. */
const turnedAwayMax = 100;

type Ports = Pick<
  AdminPorts,
  'version' | 'health' | 'plan' | 'meters' | 'gauges' | 'backlog' | 'turnedAway'
>;

export function reportOf(ports: Ports, { host, admin }: Place): Report {
  const plan = ports.plan();
  const { meters } = ports;
  const channels = [...meters.channels.values()];
  const gauges = ports.gauges();
  return {
    version: ports.version,
    revision: plan.revision,
    host,
    admin,
    health: healthOf(ports),
    perMinute: meters.perMinute(),
    ways: meters.ways(),
    channels: plan.channels.map((one) => {
      const { type, state, since, reason, lastSeenAt } = one;
      return { key: one.key, type, state, since, reason, lastSeenAt };
    }),
    listeners: plan.config.channels.filter(isListener).map(({ type, bind, path }) => {
      return { type, bind: bind.text, path };
    }),
    ...askedOf(meters, plan.config),
    backlog: ports.backlog().map(({ channel, inbox, outbox, oldestAt, unroutableSince }) => {
      const unroutable = unroutableSince === null ? 0 : inbox + outbox;
      return { channel, inbox, outbox, oldestAt, unroutable };
    }),
    counts: countsOf(channels, meters.faults),
    deliveries: toldDeliveries(meters, ports.backlog()),
    waiting: gauges.inboxWaiting + gauges.outboxWaiting + gauges.outboxDeferred,
    inHand: gauges.inboxClaimed + gauges.outboxClaimed,
    deadLettersKept: gauges.deadLetters,
    times: {
      waited: tookBy(channels.map(({ waited }) => waited)),
      turns: tookBy(channels.map(({ turns }) => turns)),
      endToEnd: tookBy(channels.map(({ endToEnd }) => endToEnd)),
    },
    ...warningsOf(plan),
    turnedAway: ports.turnedAway().slice(0, turnedAwayMax),
  };
}

/** For the others: the fields that the schema names, and no more that a row may carry along. */
export function describeReport(report: Report): string {
  const models = modelsSummary(report.models);
  return JSON.stringify(only(reportSchema, { ...report, models }));
}

/** @returns null: it is of a release whose reports this one cannot read */
export function readReport(told: string): Report | null {
  try {
    return read(reportSchema, JSON.parse(told));
  } catch (error) {
    if (error instanceof Misshapen || error instanceof SyntaxError) return null;
    throw error;
  }
}

function healthOf(ports: Ports): Report['health'] {
  const health = ports.health();
  if (health.status === 'ok') return { status: 'ok', reason: null };
  return { status: health.isStopping === true ? 'stopping' : 'failing', reason: health.reason };
}

function countsOf(channels: readonly ChannelMeters[], faults: number): Report['counts'] {
  const sum = (of: (channel: ChannelMeters) => number): number =>
    channels.reduce((total, channel) => total + of(channel), 0);
  return {
    accepted: sum((channel) => channel.accepted),
    duplicates: sum((channel) => channel.duplicates),
    refused: sum((channel) =>
      channel.refused.values().reduce((total, { count }) => total + count, 0),
    ),
    delivered: sum((channel) => channel.delivered),
    deadIn: sum((channel) => channel.deadLetters.in),
    deadOut: sum((channel) => channel.deadLetters.out),
    faults,
  };
}

function warningsOf({ warnings }: PlanView): Pick<Report, 'warnings' | 'warningsLeftOut'> {
  return {
    warnings: warnings.slice(0, warningsMax).map(({ code, path, message, remedy }) => {
      return { code, path, message, remedy };
    }),
    warningsLeftOut: Math.max(0, warnings.length - warningsMax),
  };
}
