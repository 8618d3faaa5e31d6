import type { BrainConfig, Config } from '../config/config.ts';
import type { FailureKind } from '../domain/failure.ts';
import { channelTypeOf } from '../domain/ids.ts';
import type { ChannelMeters, Meters } from '../meters.ts';
import { Histogram } from '../lib/histogram.ts';
import type {
  AdminPorts,
  BacklogStatus,
  BrainStatus,
  ChannelStatus,
  CountsStatus,
  PlanView,
  ProviderStatus,
  Status,
  TimesStatus,
} from './admin.ts';

/** Puts together what the service says of itself: states, times and counts, nothing of anyone. */
export function statusOf(ports: AdminPorts): Status {
  const plan = ports.plan();
  const health = ports.health();
  const channels = [...ports.meters.channels.values()];
  return {
    status: health.status,
    reason: health.status === 'failing' ? health.reason : null,
    version: ports.version,
    revision: plan.revision,
    startedAt: ports.startedAt,
    uptimeMs: Math.max(0, ports.now() - ports.startedAt),
    storage: plan.config.storage === null ? 'memory' : 'sqlite',
    channels: channelsOf(plan),
    brains: plan.config.brains.map(brainOf),
    providers: providersOf(ports.meters),
    backlog: backlogOf(ports),
    counts: countsOf(ports, channels),
    times: {
      waited: timesOf(channels.map((channel) => channel.waited)),
      turns: timesOf(channels.map((channel) => channel.turns)),
      endToEnd: timesOf(channels.map((channel) => channel.endToEnd)),
    },
    warnings: plan.warnings.map(({ code, path, message, remedy }) => ({
      code,
      path,
      message,
      remedy,
    })),
  };
}

function channelsOf(plan: PlanView): ChannelStatus[] {
  const running = new Map(plan.channels.map((channel) => [channel.type, channel]));
  return plan.config.channels.map((channel) => {
    const { type } = channel;
    const brain = brainFor(plan.config, type);
    const address = type === 'webhook' ? `http://${channel.bind.text}${channel.path}` : null;
    const view = running.get(type);
    if (view !== undefined) {
      const { state, since, reason, lastSeenAt } = view;
      return { type, state, since, reason, lastSeenAt, brain, address };
    }
    const reason = 'No route leads from it.';
    return { type, state: 'unrouted', since: null, reason, lastSeenAt: null, brain, address };
  });
}

function brainFor(config: Config, type: string): string | null {
  return config.routes.find((route) => route.channel === type)?.brain ?? null;
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

function providersOf(meters: Meters): ProviderStatus[] {
  return [...meters.models].map(([provider, results]) => {
    const reasons: { code: FailureKind; count: number }[] = [];
    let givenUp = 0;
    for (const [code, { took }] of results) {
      if (code === 'cancelled' || code === 'outranked') givenUp += took.count;
      else if (code !== 'answer') reasons.push({ code, count: took.count });
    }
    const answered = results.get('answer');
    return {
      provider,
      answers: answered?.took.count ?? 0,
      failures: reasons.reduce((sum, { count }) => sum + count, 0),
      givenUp,
      reasons: reasons.sort((a, b) => b.count - a.count),
      times: timesOf(answered === undefined ? [] : [answered.took]),
    };
  });
}

/** By channel type: `messenger_a:4711` is a `messenger_a`. */
export function backlogOf(ports: AdminPorts): BacklogStatus[] {
  const byType = new Map<string, Mutable<BacklogStatus>>();
  for (const { channel: key, inbox, outbox, unroutableSince } of ports.backlog()) {
    const channel = channelTypeOf(key);
    const sum = byType.get(channel) ?? { channel, inbox: 0, outbox: 0, unroutable: 0 };
    sum.inbox += inbox;
    sum.outbox += outbox;
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

function timesOf(histograms: readonly Readonly<Histogram>[]): TimesStatus {
  const all = new Histogram();
  for (const histogram of histograms) all.add(histogram);
  return { p50Ms: all.quantile(0.5), p95Ms: all.quantile(0.95) };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
