/**
 * The report of a process for the others: its counts since the start and the states of its parts,
 * without any person's text. The other may run another release. So values that a release may add
 * are plain text here, and new fields are always optional.
 */
import { isListener } from '../../channels/registry.ts';
import type { ChannelState } from '../../domain/event.ts';
import type { TurnedAwayReason } from '../../domain/gate.ts';
import {
  completionsChannel,
  registeredNameOf,
  type ChannelKey,
  type ModelName,
} from '../../domain/ids.ts';
import type {
  ChannelMeters,
  Meters,
  CallMeters,
  CallResult,
  ProviderMeters,
} from '../../telemetry/meters.ts';
import type { AdminPorts, RunningConfigView } from '../admin.ts';
import {
  list,
  maybe,
  maybeNumber,
  maybeText,
  number,
  object,
  Misshapen,
  objectWith,
  oneOf,
  only,
  textLike,
  read,
  text,
  maybeBoolean,
  type Described,
  type IdText,
} from '../schemas/schema.ts';
import type { Reports } from '../../cluster/cluster.ts';
import type { DeliveryMeters } from '../../telemetry/delivery-meters.ts';
import type { FailureKind } from '../../domain/failure.ts';
import type { ChannelBacklog } from '../../ledger/ledger.ts';
import type { Config } from '../../config/config.ts';
import { Histogram } from '../../lib/histogram.ts';

/** The part of a report about providers, models and brains. */
const took = object({ counts: list(number), sumMs: number });
const calls = list(object({ result: text as IdText<CallResult>, took }));
const model = text as IdText<ModelName>;
const shown = object({ standing: text, since: number, shownAt: number });
const span = object({ good: number, bad: number });
const window = object({ minute: span, fiveMinutes: span });

/**
 * Fields since the first release; `health`: the standing in that release's words, null if unknown.
 */
const callsFields = {
  providers: list(
    objectWith(
      {
        provider: text,
        shownAt: number,
        health: maybe(
          object({
            state: oneOf('up', 'failing'),
            since: number,
            reason: maybeText,
            model: maybeText,
          }),
        ),
        calls,
      },
      { standing: maybeText },
    ),
  ),
  models: list(
    objectWith(
      { model, provider: text, calls },
      {
        inUse: maybeBoolean,
        shown: maybe(shown),
        last: maybeText,
        window: maybe(window),
        replies: maybeNumber,
      },
    ),
  ),
};

const callsFieldsSince = { brains: maybe(list(object({ brain: text, shown, window }))) };

const callsSchema = objectWith(callsFields, callsFieldsSince);

export type CallsReport = Described<typeof callsSchema>;
export type Took = Described<typeof took>;

function callsReportOf(meters: Meters, { brains }: Config): CallsReport {
  const configuredModels = brains.flatMap((brain) => brain.models);
  const providers = new Set<string>(configuredModels.map(({ provider }) => provider));
  const models = new Set(
    configuredModels.map(({ provider, modelId }) => `${provider}/${modelId}` as ModelName),
  );
  const names = brains.map(({ name }) => name);
  return {
    providers: [...providers].flatMap((provider) => {
      const met = meters.providers.get(provider);
      if (met === undefined) return [];
      const { standing, shownAt } = met.shown;
      return [
        { provider, shownAt, health: healthSummary(met), calls: callsSummary(met.calls), standing },
      ];
    }),
    models: [...meters.models].map(([name, met]) => {
      const { provider, window: counted, replies, last } = met;
      const summary = { model: name, provider, calls: callsSummary(met.calls), shown: met.shown };
      return { ...summary, inUse: models.has(name), last, window: counted, replies };
    }),
    brains: names.flatMap((brain) => {
      const met = meters.brains.get(brain);
      if (met === undefined) return [];
      return [{ brain, shown: met.shown, window: met.window }];
    }),
  };
}

/** How many models outside the configuration a report has. */
const formerMax = 20;

/** The models in use and a few former ones, so that a report does not grow with each change. */
function modelsSummary(models: CallsReport['models']): CallsReport['models'] {
  const former = models.filter(({ inUse }) => inUse === false).slice(-formerMax);
  return [...models.filter(({ inUse }) => inUse !== false), ...former];
}

function healthSummary({
  shown: lastShown,
  last,
}: ProviderMeters): CallsReport['providers'][number]['health'] {
  const { standing, since } = lastShown;
  if (standing === 'unknown') return null;
  if (standing !== 'failing') return { state: 'up', since, reason: null, model: null };
  return { state: 'failing', since, reason: last?.reason ?? null, model: last?.model ?? null };
}

function callsSummary(made: CallMeters): { result: CallResult; took: Took }[] {
  return [...made].map(([result, one]) => ({ result, took: tookBy([one.took]) }));
}

function tookBy(histograms: readonly Readonly<Histogram>[]): Took {
  const all = new Histogram();
  for (const histogram of histograms) all.add(histogram);
  return { counts: [...all.counts], sumMs: all.sumMs };
}

/** The part of a report about each channel's replies: whether they arrive, and the oldest. */
const tries = object({ tried: number, failed: number });

const deliverySummary = objectWith(
  {
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
    /** When the oldest reply of this process was made; null: it has none. */
    oldestAt: maybeNumber,
  },
  { someArrive: maybeBoolean },
);

export type DeliverySummary = Described<typeof deliverySummary>;

const noTries: DeliveryMeters = {
  failingSince: null,
  someArrive: true,
  minute: { tried: 0, failed: 0 },
  fiveMinutes: { tried: 0, failed: 0 },
  reasons: [],
};

/** By registered name, so all bots of a name are one row. */
function deliverySummaries(
  meters: Pick<Meters, 'deliveries'>,
  backlog: readonly ChannelBacklog[],
): DeliverySummary[] {
  const known = meters.deliveries();
  const oldest = new Map<string, number>();
  for (const { channel, oldestReplyAt } of backlog) {
    if (oldestReplyAt === null) continue;
    const name = registeredNameOf(channel);
    oldest.set(name, Math.min(oldest.get(name) ?? oldestReplyAt, oldestReplyAt));
  }
  return [...new Set([...known.keys(), ...oldest.keys()])].map((channel) => {
    return { channel, ...(known.get(channel) ?? noTries), oldestAt: oldest.get(channel) ?? null };
  });
}

const key = text as IdText<ChannelKey>;

/** The registered name; an older release leaves it out, and the type is the name. */
const named = { name: textLike('type') };

const ways = list(object({ from: text, to: text, count: number }));

const reportFields = {
  version: text,
  revision: text,
  host: text,
  admin: maybeText,
  health: object({ status: oneOf('ok', 'failing', 'stopping'), reason: maybeText }),
  perMinute: number,
  channels: list(
    objectWith(
      {
        key: maybeText,
        type: text,
        state: text as IdText<ChannelState>,
        since: number,
        reason: maybeText,
        lastSeenAt: maybeNumber,
      },
      named,
    ),
  ),
  listeners: list(objectWith({ type: text, bind: text, path: text }, named)),
  ...callsFields,
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
  /** null: the release does not report it. */
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

/** An older release leaves out the optional fields. */
const reportSchema = objectWith(reportFields, {
  ...callsFieldsSince,
  ways: maybe(object({ answered: ways, asked: ways })),
});

export type Report = Described<typeof reportSchema>;
/** The same limit as in a status. */
export const warningsMax = 100;
/** How many of the turned-away senders a report has, the newest. */
const turnedAwayMax = 100;

type Ports = Pick<
  AdminPorts,
  'version' | 'health' | 'runningConfig' | 'meters' | 'gauges' | 'backlog' | 'turnedAway' | 'place'
>;

/** What an answer about the service as a whole is made of. */
export type Whole = Reports<Report>;

export function wholeOf(ports: Ports & Pick<AdminPorts, 'view'>): Promise<Whole> {
  return ports.view.read(() => reportOf(ports), readReport);
}

export function reportOf(ports: Ports): Report {
  const runningConfig = ports.runningConfig();
  const { meters } = ports;
  const channels = [...meters.channels.values()];
  const gauges = ports.gauges();
  return {
    version: ports.version,
    revision: runningConfig.revision,
    ...ports.place(),
    health: healthOf(ports),
    perMinute: meters.perMinute(),
    ways: meters.ways(),
    channels: runningConfig.channels.map((one) => {
      const { name, type, state, since, reason, lastSeenAt } = one;
      return { key: one.key, name, type, state, since, reason, lastSeenAt };
    }),
    listeners: listenersOf(runningConfig.config),
    ...callsReportOf(meters, runningConfig.config),
    backlog: ports.backlog().map(({ channel, inbox, outbox, oldestAt, unroutableSince }) => {
      const unroutable = unroutableSince === null ? 0 : inbox + outbox;
      return { channel, inbox, outbox, oldestAt, unroutable };
    }),
    counts: countsOf(channels, meters.faults),
    deliveries: deliverySummaries(meters, ports.backlog()),
    waiting: gauges.inboxWaiting + gauges.outboxWaiting + gauges.outboxDeferred,
    inHand: gauges.inboxClaimed + gauges.outboxClaimed,
    deadLettersKept: gauges.deadLetters,
    times: {
      waited: tookBy(channels.map(({ waited }) => waited)),
      turns: tookBy(channels.map(({ turns }) => turns)),
      endToEnd: tookBy(channels.map(({ endToEnd }) => endToEnd)),
    },
    ...warningsOf(runningConfig),
    turnedAway: ports.turnedAway().slice(0, turnedAwayMax),
  };
}

function listenersOf({ channels, completions }: Config): Report['listeners'] {
  const own = channels.filter(isListener).map(({ name, type, bind, path }) => {
    return { name, type, bind: bind.text, path };
  });
  if (completions === null) return own;
  const api = { name: completionsChannel, type: completionsChannel };
  return [...own, { ...api, bind: completions.bind.text, path: '/v1' }];
}

/** Serialises a report with the fields of the schema, and nothing else that a row may have. */
export function describeReport(report: Report): string {
  const models = modelsSummary(report.models);
  return JSON.stringify(only(reportSchema, { ...report, models }));
}

/** @returns null: the report is of a release that this one cannot read */
export function readReport(json: string): Report | null {
  try {
    return read(reportSchema, JSON.parse(json));
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

function warningsOf({ warnings }: RunningConfigView): Pick<Report, 'warnings' | 'warningsLeftOut'> {
  return {
    warnings: warnings.slice(0, warningsMax).map(({ code, path, message, remedy }) => {
      return { code, path, message, remedy };
    }),
    warningsLeftOut: Math.max(0, warnings.length - warningsMax),
  };
}
