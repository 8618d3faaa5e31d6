import type { BrainConfig, Config } from '../config/config.ts';
import type {
  Access,
  AdminPorts,
  BacklogStatus,
  BrainStatus,
  ChannelStatus,
  PlanView,
  RouteStatus,
  Status,
} from './admin.ts';
import type { Viewer } from './http/auth.ts';
import { answeringOf } from './answering.ts';
import { modelsOf, providersOf, timesOf } from './call-status.ts';
import { askedBy } from './instances/call-status.ts';
import type { Took } from './instances/call-report.ts';
import { channelsOf } from './instances/channels.ts';
import { deliveriesOf } from './instances/deliveries.ts';
import * as merging from './instances/merging.ts';
import { instancesOf, wholeOf, type Whole } from './instances/whole.ts';
import type { StorageBackend } from '../domain/storage-form.ts';

/**
 * Puts together what the service says of itself: states, times and counts, nothing of anyone.
 * Only an operator is told what may hold more of the configuration than its names.
 */
export async function statusOf(ports: AdminPorts, access: Access, asker: Viewer): Promise<Status> {
  const whole = await wholeOf(ports);
  const plan = ports.plan();
  const asked = askedBy(whole);
  return {
    ...merging.serviceHealth(whole),
    version: ports.version,
    revision: plan.revision,
    plan: { usedAt: plan.usedAt },
    startedAt: ports.startedAt,
    uptimeMs: Math.max(0, ports.now() - ports.startedAt),
    storage: storageOf(plan.config),
    access,
    application: ports.application !== null,
    perMinute: merging.sumOf(whole, ({ perMinute }) => perMinute),
    traffic: merging.throughputOf(whole),
    channels: channelsOf(whole, plan.config, asker),
    brains: brainsOf(plan),
    providers: providersOf(asked, plan.config),
    models: modelsOf(asked, plan.config),
    answering: answeringOf(asked, plan.config),
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

/** As they stand here, without those that another instance runs. */
export function ownChannelsOf({ config, channels }: PlanView): OwnChannel[] {
  const running = new Map(channels.map((channel) => [channel.type, channel]));
  return config.channels.flatMap(({ type }): OwnChannel[] => {
    const view = running.get(type);
    if (view === undefined) return [{ type, state: 'unrouted', lastSeenAt: null }];
    const { state, lastSeenAt, isHeld } = view;
    return isHeld ? [{ type, state, lastSeenAt }] : [];
  });
}

type OwnChannel = Pick<ChannelStatus, 'type' | 'state' | 'lastSeenAt'>;

/** What this instance has in hand. */
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

export function brainsOf({ config }: PlanView): BrainStatus[] {
  return config.brains.map(brainOf);
}

/** A route runs while its channel does, in whatever trouble that is. */
export function routesOf(whole: Whole, config: Config): RouteStatus[] {
  const down = new Set<ChannelStatus['state']>(['failed', 'stopped', 'unrouted']);
  const works = new Set(
    channelsOf(whole, config, 'reader')
      .filter(({ state }) => !down.has(state))
      .map(({ type }) => type),
  );
  return config.routes.map(({ channel, brain }) => ({
    channel,
    brain,
    running: works.has(channel),
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
