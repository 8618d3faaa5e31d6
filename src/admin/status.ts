import type { BrainConfig, Config } from '../config/config.ts';
import type {
  Access,
  AdminPorts,
  BacklogStatus,
  BrainStatus,
  ChannelStatus,
  RunningConfigView,
  RouteStatus,
  Status,
} from './admin.ts';
import { channelsIn } from './channel-named.ts';
import type { Viewer } from './http/auth.ts';
import { completionsChannel } from '../domain/ids.ts';
import { conditionsOf } from '../domain/routing.ts';
import {
  modelsOf,
  providersOf,
  timesOf,
  allowedModelsOf,
  shownOf,
  windowOf,
} from './call-status.ts';
import { channelsOf, deliveriesOf, instancesOf, mergedCalls } from './reports/merging.ts';
import { wholeOf, type Took, type Whole } from './reports/report.ts';
import * as merging from './reports/merging.ts';
import type { StorageBackend } from '../domain/remedy.ts';
import { emptyWindow, holdMs, type HealthLevel } from '../domain/health.ts';
import type { BrainMeters, Meters, ModelMeters, Shown } from '../telemetry/meters.ts';
import type { AnsweringStatus } from './model-probes.ts';

/**
 * Makes the status: states, times and counts, without people's data. Only an operator sees more of
 * the configuration than its names.
 */
export async function statusOf(ports: AdminPorts, access: Access, asker: Viewer): Promise<Status> {
  const whole = await wholeOf(ports);
  const runningConfig = ports.runningConfig();
  const calls = mergedCalls(whole);
  return {
    ...merging.serviceHealth(whole),
    version: ports.version,
    revision: runningConfig.revision,
    plan: { usedAt: runningConfig.usedAt },
    startedAt: ports.startedAt,
    uptimeMs: Math.max(0, ports.now() - ports.startedAt),
    storage: storageOf(runningConfig.config),
    access,
    application: ports.application !== null,
    perMinute: merging.sumOf(whole, ({ perMinute }) => perMinute),
    traffic: merging.throughputOf(whole),
    channels: channelsOf(whole, runningConfig.config, asker),
    brains: brainsOf(runningConfig),
    providers: providersOf(calls, runningConfig.config),
    models: modelsOf(calls, runningConfig.config),
    answering: answeringOf(calls, runningConfig.config),
    backlog: merging.backlogOf(whole),
    deliveries: deliveriesOf(whole),
    counts: merging.countsOf(whole),
    held: ports.gauges().held,
    approvals: { waiting: ports.meters.approvals.waiting },
    times: {
      waited: timesBy(whole, 'waited'),
      turns: timesBy(whole, 'turns'),
      endToEnd: timesBy(whole, 'endToEnd'),
    },
    ...merging.warningsOf(whole, asker),
    mcp: ports.mcp(),
    instance: whole.own.id,
    asOf: whole.asOf,
    instances: instancesOf(whole, asker),
  };
}

function timesBy({ reports }: Whole, what: keyof Status['times']) {
  const tooks: readonly Took[] = reports.map(({ report }) => report.times[what]);
  return timesOf([merging.histogramOf(tooks)]);
}

export function storageOf({ storage }: Pick<Config, 'storage'>): StorageBackend {
  if (storage === null) return 'memory';
  return storage.urlEnv === null ? 'sqlite' : 'postgres';
}

/** The channels' states at this process, without those that another one runs. */
export function ownChannelsOf({ config, channels }: RunningConfigView): OwnChannel[] {
  const running = new Map(channels.map((channel) => [channel.name, channel]));
  return channelsIn(config).flatMap(({ name }): OwnChannel[] => {
    const view = running.get(name);
    if (view === undefined) return [{ name, state: 'unrouted', lastSeenAt: null }];
    const { state, lastSeenAt, isHeld } = view;
    return isHeld ? [{ name, state, lastSeenAt }] : [];
  });
}

type OwnChannel = Pick<ChannelStatus, 'name' | 'state' | 'lastSeenAt'>;

/** The unsettled rows of this process. */
export function ownBacklogOf(ports: Pick<AdminPorts, 'backlog'>): BacklogStatus[] {
  const rows = ports.backlog().map(({ channel, inbox, outbox, oldestAt, unroutableSince }) => ({
    channel,
    inbox,
    outbox,
    oldestAt,
    unroutable: unroutableSince === null ? 0 : inbox + outbox,
  }));
  return merging.backlogBy(rows);
}

export function brainsOf({ config }: RunningConfigView): BrainStatus[] {
  return config.brains.map(brainOf);
}

/**
 * A route runs while its channel does, even a troubled one. Each brain of `completions` follows as
 * a route without conditions.
 */
export function routesOf(whole: Whole, config: Config, asker: Viewer): RouteStatus[] {
  const down = new Set<ChannelStatus['state']>(['failed', 'stopped', 'unrouted']);
  const works = new Set(
    channelsOf(whole, config, 'reader')
      .filter(({ state }) => !down.has(state))
      .map(({ name }) => name),
  );
  const ofClients = (config.completions?.brains ?? []).map((brain) => {
    return { channel: completionsChannel, brain, number: null, when: null };
  });
  return [...config.routes, ...ofClients].map(({ channel, brain, number, when }) => ({
    channel,
    brain,
    running: works.has(channel),
    number,
    when:
      when &&
      conditionsOf(when).map(({ key, wanted }) => {
        return { key, entries: asker === 'operator' ? wanted : null };
      }),
  }));
}

function brainOf(brain: BrainConfig): BrainStatus {
  const isPrivate = brain.sensitivity === 'private';
  return {
    name: brain.name,
    sensitivity: brain.sensitivity,
    dispatch: brain.dispatch,
    policy: brain.policy.kind,
    models: brain.models.map(({ provider, modelId, locality }) => ({
      name: `${provider}/${modelId}`,
      locality,
      state: isPrivate && locality === 'cloud' ? 'dropped' : 'asked',
    })),
  };
}

/** Whether messages to the brains are answered. The page's headline and concerns use this. */
type BrainsMeters = Pick<Meters, 'models' | 'brains'>;

/** One for each brain that gets messages. */
export function answeringOf(
  meters: BrainsMeters,
  { brains, routes, completions }: Pick<Config, 'brains' | 'routes' | 'completions'>,
): AnsweringStatus[] {
  const routed = new Set([...routes.map(({ brain }) => brain), ...(completions?.brains ?? [])]);
  return brains.filter(({ name }) => routed.has(name)).map((brain) => answersOf(meters, brain));
}

/**
 * A brain does not answer if all its models fail, unless its turns show the contrary. With
 * consensus it needs two models that do not fail.
 */
function answersOf(
  { models, brains }: BrainsMeters,
  brain: Config['brains'][number],
): AnsweringStatus {
  const brainModels = allowedModelsOf(brain).map(
    (name): readonly [string, ModelMeters | undefined] => [name, models.get(name)],
  );
  const turns = brains.get(brain.name);
  const outage = outageOf(brainModels, brain.policy.kind === 'consensus' ? 2 : 1);
  const isSilent = outage !== null && !isAnswered(turns, outage.since);
  const ofTurns = turnsShown(turns?.shown, brainModels);
  const isTroubled = ofTurns?.standing === 'failing' || ofTurns?.standing === 'degraded';
  // "Since" does not move back if the models' failure was seen before that of the turns.
  const since = Math.max(outage?.since ?? 0, isTroubled ? ofTurns.since : 0);
  const shown = isSilent ? { ...outage, since } : ofTurns;
  const cause = shown?.standing === 'up' ? undefined : causeOf(brainModels);
  return {
    brain: brain.name,
    ...shownOf(shown),
    model: cause?.[0] ?? null,
    reason: cause?.[1]?.last ?? null,
    window: windowOf(turns?.window ?? emptyWindow),
  };
}

type BrainModels = readonly (readonly [string, ModelMeters | undefined])[];

const healthsOf = (brainModels: BrainModels): readonly Shown[] =>
  brainModels.flatMap(([, one]) => (one === undefined ? [] : [one.shown]));

/** @returns null: enough models may answer */
function outageOf(brainModels: BrainModels, needed: number): Shown | null {
  const failing = healthsOf(brainModels).filter(({ standing }) => standing === 'failing');
  const mayFail = Math.max(0, brainModels.length - needed);
  if (failing.length <= mayFail) return null;
  const sinces = failing.map(({ since }) => since).sort((a, b) => a - b);
  return {
    standing: 'failing',
    since: sinces[mayFail]!,
    shownAt: Math.max(...failing.map(({ shownAt }) => shownAt)),
  };
}

/** Turns from before the models failed, or under way then, say nothing about now. */
const settlingMs = holdMs;
/**
 * The largest share of failed turns in a minute that counts as answering. In an outage more fail by
 * then.
 */
const failedShareMax = 0.2;

/** Models with mostly failing calls may still answer each message, because calls are retried. */
function isAnswered(turns: BrainMeters | undefined, since: number): boolean {
  if (turns === undefined || turns.shown.shownAt < since + settlingMs) return false;
  const { good, bad } = turns.window.minute;
  return good > 0 && bad <= failedShareMax * (good + bad);
}

/** A bad result of turns ends when a model answers or is found again after it. */
function turnsShown(turns: Shown | undefined, brainModels: BrainModels): Shown | undefined {
  if (turns === undefined || turns.standing === 'up') return turns;
  const isOver = healthsOf(brainModels).some(
    ({ standing, since }) => (standing === 'up' || standing === 'unknown') && since > turns.shownAt,
  );
  return isOver ? undefined : turns;
}

/** The model with the worst health; of several, the first in the configuration. */
function causeOf(brainModels: BrainModels): BrainModels[number] | undefined {
  const of = (standing: HealthLevel) =>
    brainModels.find(([, one]) => one?.shown.standing === standing);
  return of('failing') ?? of('degraded');
}
