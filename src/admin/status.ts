import { isListener, kindOf } from '../channel/kinds.ts';
import type { BrainConfig, Config, ListenerConfig } from '../config/config.ts';
import { channelTypeOf } from '../domain/ids.ts';
import type { ChannelMeters } from '../meters.ts';
import type {
  Access,
  AdminPorts,
  BacklogStatus,
  BrainStatus,
  ChannelStatus,
  CountsStatus,
  PlanView,
  RouteStatus,
  Status,
  WarningStatus,
} from './admin.ts';
import type { Viewer } from './http/auth.ts';
import { modelsOf, providersOf, timesOf } from './call-status.ts';
import { redactForReader } from './http/redact.ts';
import type { StorageForm } from '../domain/storage-form.ts';

const warningsMax = 100;

/**
 * Puts together what the service says of itself: states, times and counts, nothing of anyone.
 * Only an operator is told what may hold more of the configuration than its names.
 */
export function statusOf(ports: AdminPorts, access: Access, asker: Viewer): Status {
  const plan = ports.plan();
  const health = ports.health();
  const channels = [...ports.meters.channels.values()];
  return {
    status: health.status,
    reason: health.status === 'failing' ? health.reason : null,
    version: ports.version,
    revision: plan.revision,
    plan: { usedAt: plan.usedAt },
    startedAt: ports.startedAt,
    uptimeMs: Math.max(0, ports.now() - ports.startedAt),
    storage: storageOf(plan.config),
    access,
    application: ports.application !== null,
    perMinute: ports.meters.perMinute(),
    channels: channelsOf(plan, asker),
    brains: brainsOf(plan),
    providers: providersOf(ports.meters, plan.config),
    models: modelsOf(ports.meters, plan.config),
    backlog: backlogOf(ports),
    counts: countsOf(ports, channels),
    times: {
      waited: timesOf(channels.map((channel) => channel.waited)),
      turns: timesOf(channels.map((channel) => channel.turns)),
      endToEnd: timesOf(channels.map((channel) => channel.endToEnd)),
    },
    ...warningsOf(plan, asker),
  };
}

export function storageOf({ storage }: Pick<Config, 'storage'>): StorageForm {
  if (storage === null) return 'memory';
  return storage.urlEnv === null ? 'sqlite' : 'postgres';
}

function warningsOf({ warnings }: PlanView, asker: Viewer) {
  return {
    warnings: warnings.slice(0, warningsMax).map((warning): WarningStatus => {
      const { code, path, message, remedy } = warning;
      return asker === 'operator' ? { code, path, message, remedy } : redactForReader(warning);
    }),
    warningsLeftOut: Math.max(0, warnings.length - warningsMax),
  };
}

export function channelsOf(plan: PlanView, asker: Viewer): ChannelStatus[] {
  const running = new Map(plan.channels.map((channel) => [channel.type, channel]));
  return plan.config.channels.map((channel) => {
    const { type } = channel;
    const brain = brainFor(plan.config, type);
    const address = isListener(channel) ? addressOf(channel, asker) : null;
    const view = running.get(type);
    if (view !== undefined) {
      const { state, since, reason, lastSeenAt } = view;
      return { type, state, since, reason, lastSeenAt, brain, address };
    }
    const reason = 'No route leads from it.';
    return { type, state: 'unrouted', since: null, reason, lastSeenAt: null, brain, address };
  });
}

/** A path that somebody chose may be a secret. */
function addressOf({ type, bind, path }: ListenerConfig, asker: Viewer): string {
  const mayTell = asker === 'operator' || path === kindOf(type).listener.path;
  return `http://${bind.text}${mayTell ? path : ''}`;
}

function brainFor(config: Config, type: string): string | null {
  return config.routes.find((route) => route.channel === type)?.brain ?? null;
}

export function brainsOf({ config }: PlanView): BrainStatus[] {
  return config.brains.map(brainOf);
}

/** A route runs while its channel does, in whatever trouble that is. */
export function routesOf({ config, channels }: PlanView): RouteStatus[] {
  const works = (type: string): boolean =>
    channels.some((one) => one.type === type && one.state !== 'failed' && one.state !== 'stopped');
  return config.routes.map(({ channel, brain }) => ({ channel, brain, running: works(channel) }));
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

/** By channel type: all bots of a messenger in one. */
export function backlogOf(ports: AdminPorts): BacklogStatus[] {
  const byType = new Map<string, Mutable<BacklogStatus>>();
  for (const { channel: key, inbox, outbox, oldestAt, unroutableSince } of ports.backlog()) {
    const channel = channelTypeOf(key);
    const sum = byType.get(channel) ?? { channel, inbox: 0, outbox: 0, unroutable: 0, oldestAt };
    sum.inbox += inbox;
    sum.outbox += outbox;
    sum.oldestAt = Math.min(sum.oldestAt ?? oldestAt, oldestAt);
    if (unroutableSince !== null) sum.unroutable += inbox + outbox;
    byType.set(channel, sum);
  }
  return [...byType.values()];
}

function countsOf(ports: AdminPorts, channels: readonly ChannelMeters[]): CountsStatus {
  const gauges = ports.gauges();
  const sum = (read: (channel: ChannelMeters) => number): number =>
    channels.reduce((total, channel) => total + read(channel), 0);
  const delivered = sum((channel) => channel.delivered);
  return {
    accepted: sum((channel) => channel.accepted),
    duplicates: sum((channel) => channel.duplicates),
    refused: sum((channel) =>
      [...channel.refused.values()].reduce((total, { count }) => total + count, 0),
    ),
    settled: delivered + sum((channel) => channel.deadLetters.out),
    delivered,
    deadLetters: sum((channel) => channel.deadLetters.in + channel.deadLetters.out),
    faults: ports.meters.faults,
    waiting: gauges.inboxWaiting + gauges.outboxWaiting + gauges.outboxDeferred,
    inFlight: gauges.inboxClaimed + gauges.outboxClaimed,
    deadLettersKept: gauges.deadLetters,
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
