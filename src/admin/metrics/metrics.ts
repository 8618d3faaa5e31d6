/**
 * The metrics page, of this instance alone. All that svc counts is read from the meters when the
 * page is asked for; the event loop and garbage collection are watched from the first scrape on.
 *
 * Labels: channel type, provider, model of the configuration, box, state, and the stable codes of
 * outcomes. Never an id.
 */
import type { ChannelMeters } from '../../telemetry/meters.ts';
import { standings } from '../../domain/health.ts';
import { Histogram } from '../../lib/histogram.ts';
import type { ReuseTally, TokenTally } from '../../telemetry/spend-meters.ts';
import type { AdminPorts } from '../admin.ts';
import { providersOf } from '../call-status.ts';
import { counter, expose, gauge, one } from '../../telemetry/prometheus/exposition.ts';
import type { Family, Sample } from '../../telemetry/prometheus/exposition.ts';
import { LagWatch } from '../../telemetry/prometheus/lag.ts';
import { ledgerFamilies } from './ledger-metrics.ts';
import { attachmentFamily, operatorFamilies, toolFamilies } from './activity-metrics.ts';
import { GarbageWatch, processFamilies } from '../../telemetry/prometheus/process-metrics.ts';
import { ownChannelsOf, storageOf } from '../status.ts';

const states = ['starting', 'up', 'degraded', 'failed', 'stopped', 'unrouted'] as const;

export class MetricsPage implements Disposable {
  readonly #ports: AdminPorts;
  #lag: LagWatch | null = null;
  #garbage: GarbageWatch | null = null;

  constructor(ports: AdminPorts) {
    this.#ports = ports;
  }

  text(): string {
    this.#lag ??= new LagWatch();
    this.#garbage ??= new GarbageWatch();
    return expose([
      ...familiesOf(this.#ports),
      lagFamily(this.#lag),
      ...processFamilies(this.#garbage),
    ]);
  }

  [Symbol.dispose](): void {
    this.#lag?.[Symbol.dispose]();
    this.#garbage?.[Symbol.dispose]();
  }
}

function lagFamily({ histogram }: LagWatch): Family {
  const name = 'svc_event_loop_lag_seconds';
  const help = 'How late the event loop was, sampled since the first scrape.';
  return { kind: 'histogram', name, help, series: [{ labels: {}, histogram }] };
}

function familiesOf(ports: AdminPorts): Family[] {
  return [
    ...serviceFamilies(ports),
    ...messageFamilies(ports),
    ...deliveryFamilies(ports),
    ...durationFamilies(ports),
    ...ledgerFamilies(ports),
    loadFamily(ports),
    ...tokenFamilies(ports),
    shortageFamily(ports),
    standingFamily(ports),
    ...toolFamilies(ports),
    attachmentFamily(ports),
    ...operatorFamilies(ports),
  ];
}

function serviceFamilies(ports: AdminPorts): Family[] {
  const plan = ports.plan();
  const channels = ownChannelsOf(plan);
  return [
    gauge('svc_build_info', 'The running version.', [
      one(1, { version: ports.version, storage: storageOf(plan.config) }),
    ]),
    gauge('svc_healthy', '1 while it can accept and keep messages.', [
      one(ports.health().status === 'ok' ? 1 : 0),
    ]),
    gauge(
      'svc_channel_state',
      '1 for the state that the channel is in.',
      channels.flatMap((channel) =>
        states.map((state) =>
          one(channel.state === state ? 1 : 0, { channel: channel.type, state }),
        ),
      ),
    ),
    gauge(
      'svc_channel_last_seen_seconds',
      'How long ago the platform of a messenger was last heard of.',
      channels.flatMap(({ type, lastSeenAt }) =>
        lastSeenAt === null
          ? []
          : [one(Math.max(0, ports.now() - lastSeenAt) / 1_000, { channel: type })],
      ),
    ),
    gauge('svc_config_warnings', 'Warnings about the configuration in use.', [
      one(plan.warnings.length),
    ]),
    counter('svc_faults_total', 'Bugs of svc that were contained.', [one(ports.meters.faults)]),
  ];
}

/** A channel counts from zero: a series that begins with its first event hides that event. */
function channelsOf(ports: AdminPorts): [string, ChannelMeters][] {
  const types = new Set([
    ...ports.plan().config.channels.map(({ type }) => type),
    ...ports.meters.channels.keys(),
  ]);
  return [...types].map((type) => [type, ports.meters.channels.get(type) ?? unmet]);
}

const unmet: ChannelMeters = {
  accepted: 0,
  duplicates: 0,
  refused: new Map(),
  turnedAway: new Map(),
  confirmedEarly: 0,
  waited: new Histogram(),
  turns: new Histogram(),
  commands: new Map(),
  delivered: 0,
  failedTries: new Map(),
  deadLetters: { in: 0, out: 0 },
  endToEnd: new Histogram(),
};

function messageFamilies(ports: AdminPorts): Family[] {
  const { meters } = ports;
  const channels = channelsOf(ports);
  const each = (read: (meters: ChannelMeters) => number): Sample[] =>
    channels.map(([channel, counts]) => one(read(counts), { channel }));
  return [
    counter(
      'svc_messages_accepted_total',
      'Messages accepted from a channel.',
      each((counts) => counts.accepted),
    ),
    counter(
      'svc_messages_duplicate_total',
      'Messages that had been accepted before.',
      each((counts) => counts.duplicates),
    ),
    counter(
      'svc_messages_refused_total',
      'Messages refused at the door, by why.',
      channels.flatMap(([channel, { refused }]) =>
        [...refused].map(([code, { count }]) => one(count, { channel, code })),
      ),
    ),
    counter(
      'svc_messages_turned_away_total',
      'Messages that the gate of a messenger let not in, by why.',
      channels.flatMap(([channel, { turnedAway }]) =>
        [...turnedAway].map(([reason, { count }]) => one(count, { channel, reason })),
      ),
    ),
    counter(
      'svc_messages_confirmed_early_total',
      'Messages that a platform was told to forget before they were safe.',
      each((counts) => counts.confirmedEarly),
    ),
    counter(
      'svc_decisions_total',
      'How turns were decided.',
      Object.entries(meters.decisions).map(([decision, count]) => one(count, { decision })),
    ),
  ];
}

function deliveryFamilies(ports: AdminPorts): Family[] {
  const channels = channelsOf(ports);
  return [
    counter(
      'svc_replies_settled_total',
      'Replies that reached their end.',
      channels.flatMap(([channel, { delivered, deadLetters }]) => [
        one(delivered, { channel, result: 'delivered' }),
        one(deadLetters.out, { channel, result: 'dead' }),
      ]),
    ),
    counter(
      'svc_dead_letters_total',
      'Messages (in) and replies (out) that were given up.',
      channels.flatMap(([channel, { deadLetters }]) => [
        one(deadLetters.in, { channel, box: 'in' }),
        one(deadLetters.out, { channel, box: 'out' }),
      ]),
    ),
    counter(
      'svc_delivery_attempts_total',
      'Tries to deliver a reply, by how they ended.',
      channels.flatMap(([channel, { delivered, failedTries }]) => [
        one(delivered, { channel, outcome: 'delivered' }),
        ...[...failedTries].map(([outcome, { count }]) => one(count, { channel, outcome })),
      ]),
    ),
  ];
}

function durationFamilies(ports: AdminPorts): Family[] {
  const channels = channelsOf(ports);
  const byChannel = (name: string, help: string, key: 'waited' | 'turns' | 'endToEnd'): Family => ({
    kind: 'histogram',
    name,
    help,
    series: channels.map(([channel, counts]) => ({
      labels: { channel },
      histogram: counts[key],
    })),
  });
  return [
    byChannel('svc_wait_seconds', 'From acceptance to the start of the turn.', 'waited'),
    byChannel('svc_turn_seconds', 'From the start of a turn to its decision.', 'turns'),
    byChannel('svc_end_to_end_seconds', 'From acceptance to the delivered reply.', 'endToEnd'),
    {
      kind: 'histogram',
      name: 'svc_model_seconds',
      help: 'Model calls, by provider and how they ended.',
      series: [...ports.meters.providers].flatMap(([provider, { calls }]) =>
        [...calls].map(([outcome, { took }]) => ({
          labels: { provider, outcome },
          histogram: took,
        })),
      ),
    },
  ];
}

function shortageFamily({ meters }: AdminPorts): Family {
  const help = 'What was turned away or not tried for want of connections or of open files.';
  const samples = Object.entries(meters.shortages).map(([of, { count }]) => one(count, { of }));
  return counter('svc_shortages_total', help, samples);
}

function tokenFamilies({ meters }: AdminPorts): Family[] {
  const tallies = [...meters.spend.tokens.values()];
  const whose = ({ brain, provider, model }: TokenTally) => ({ brain, provider, model });
  const samples = tallies.flatMap((tally) => [
    one(tally.input, { ...whose(tally), kind: 'input' }),
    one(tally.output, { ...whose(tally), kind: 'output' }),
  ]);
  const help = 'Tokens of all calls: as the providers told, else estimated.';
  const ofCache = 'Of the input tokens, those that providers told to be from their caches.';
  const cached = tallies.map((tally) => one(tally.cached, whose(tally)));
  return [
    counter('svc_tokens_total', help, samples),
    counter('svc_cached_tokens_total', ofCache, cached),
    reuseFamily(meters.spend.reuse.values()),
  ];
}

function reuseFamily(tallies: Iterable<ReuseTally>): Family {
  const name = 'svc_prompt_reuse_ratio';
  const help =
    'Shares, 0 to 1. provider: of a prompt, from its cache. ' +
    'prefix: of the last prompt, at the beginning of the next one.';
  const sums = [...tallies].map(({ model, source, sum, count }) => {
    return { labels: { model, source }, sum, count };
  });
  return { kind: 'summary', name, help, sums };
}

function loadFamily(ports: AdminPorts): Family {
  const { brains } = ports.plan().config;
  const inUse = new Set<string>(
    brains.flatMap(({ models }) => models.map(({ provider }) => provider)),
  );
  const samples = [...ports.modelLoads()].flatMap(([provider, { inFlight, waiting }]) => {
    // A model that left the configuration stays while it has calls of a plan that ends.
    if (!inUse.has(provider) && inFlight + waiting === 0) return [];
    return [
      one(inFlight, { provider, state: 'in_flight' }),
      one(waiting, { provider, state: 'waiting' }),
    ];
  });
  return gauge('svc_model_calls', 'Model calls of now; waiting: held back by a limit.', samples);
}

function standingFamily(ports: AdminPorts): Family {
  const providers = providersOf(ports.meters, ports.plan().config);
  const samples = providers.flatMap(({ provider, standing }) =>
    standings.map((state) => one(standing === state ? 1 : 0, { provider, state })),
  );
  const help = '1 for how the provider stands by its calls of the last minutes.';
  return gauge('svc_provider_state', help, samples);
}
