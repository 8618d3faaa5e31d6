/**
 * The metrics page, of this process alone. It reads the meters at each scrape. It watches the
 * event loop and garbage collection from the first scrape on.
 *
 * Labels: channel type, provider, model of the configuration, box, state, and the stable codes of
 * outcomes. Never an id.
 */
import type { ChannelMeters, ReuseTally, TokenTally } from '../../telemetry/meters.ts';
import { standings } from '../../domain/health.ts';
import { Histogram } from '../../lib/histogram.ts';
import type { AdminPorts } from '../admin.ts';
import { providersOf } from '../call-status.ts';
import {
  counter,
  expose,
  gauge,
  one,
  type Family,
  type Sample,
} from '../../telemetry/prometheus/exposition.ts';
import {
  LagWatch,
  GarbageWatch,
  processFamilies,
} from '../../telemetry/prometheus/process-metrics.ts';
import { ownChannelsOf, storageOf, ownBacklogOf } from '../status.ts';

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
  const runningConfig = ports.runningConfig();
  const channels = ownChannelsOf(runningConfig);
  return [
    gauge('svc_build_info', 'The running version.', [
      one(1, { version: ports.version, storage: storageOf(runningConfig.config) }),
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
      one(runningConfig.warnings.length),
    ]),
    counter('svc_faults_total', 'Bugs of svc that were contained.', [one(ports.meters.faults)]),
  ];
}

/** A channel's series begin at zero, since a series that begins with its first event hides it. */
function channelsOf(ports: AdminPorts): [string, ChannelMeters][] {
  const types = new Set([
    ...ports.runningConfig().config.channels.map(({ type }) => type),
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
  const labelsOf = ({ brain, provider, model }: TokenTally) => ({ brain, provider, model });
  const samples = tallies.flatMap((tally) => [
    one(tally.input, { ...labelsOf(tally), kind: 'input' }),
    one(tally.output, { ...labelsOf(tally), kind: 'output' }),
  ]);
  const help = 'Tokens of all calls: as the providers told, else estimated.';
  const ofCache = 'Of the input tokens, those that providers told to be from their caches.';
  const cached = tallies.map((tally) => one(tally.cached, labelsOf(tally)));
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
  const { brains } = ports.runningConfig().config;
  const inUse = new Set<string>(
    brains.flatMap(({ models }) => models.map(({ provider }) => provider)),
  );
  const samples = [...ports.modelLoads()].flatMap(([provider, { inFlight, waiting }]) => {
    // A model that left the configuration stays while a retired running configuration calls it.
    if (!inUse.has(provider) && inFlight + waiting === 0) return [];
    return [
      one(inFlight, { provider, state: 'in_flight' }),
      one(waiting, { provider, state: 'waiting' }),
    ];
  });
  return gauge('svc_model_calls', 'Model calls of now; waiting: held back by a limit.', samples);
}

function standingFamily(ports: AdminPorts): Family {
  const providers = providersOf(ports.meters, ports.runningConfig().config);
  const samples = providers.flatMap(({ provider, standing }) =>
    standings.map((state) => one(standing === state ? 1 : 0, { provider, state })),
  );
  const help = '1 for how the provider stands by its calls of the last minutes.';
  return gauge('svc_provider_state', help, samples);
}

/** Acts of agents and operators, and files that svc could not read. */
function toolFamilies({ meters }: AdminPorts): Family[] {
  const samples = [...meters.tools.values()].map(({ count, tool, mode, outcome }) =>
    one(count, { tool, mode, outcome }),
  );
  const help = 'Calls of tools that agents asked for, by the grant and what became of them.';
  const { byVerdict, waiting } = meters.approvals;
  const decided = Object.entries(byVerdict).map(([verdict, count]) => one(count, { verdict }));
  return [
    counter('svc_tool_calls_total', help, samples),
    counter('svc_approvals_total', 'Calls that waited for a yes, by what was decided.', decided),
    gauge('svc_approvals_waiting', 'Calls that wait for a yes.', [one(waiting)]),
  ];
}

function attachmentFamily({ meters }: AdminPorts): Family {
  const samples = [...meters.unread.values()].map(({ count, channel, part, reason }) =>
    one(count, { channel, part, reason }),
  );
  const help = 'Pictures, files and voice messages that were not read, by what failed and why.';
  return counter('svc_attachments_unread_total', help, samples);
}

function operatorFamilies({ meters }: AdminPorts): Family[] {
  return [
    counter(
      'svc_admin_writes_total',
      'Uses of the writes of the admin API, by the status of their answer.',
      [...meters.writes].flatMap(([action, statuses]) =>
        [...statuses].map(([status, { count }]) => one(count, { action, status: `${status}` })),
      ),
    ),
    counter(
      'svc_config_reloads_total',
      'Configurations that were to be taken while svc runs, by how that ended.',
      [...meters.configs].map(([result, { count }]) => one(count, { result })),
    ),
    counter(
      'svc_admin_bearers_refused_total',
      'Requests to the admin server with a missing or a wrong bearer.',
      Object.entries(meters.bearersRefused).map(([why, { count }]) => one(count, { why })),
    ),
  ];
}

/** The rows in the ledger now, and how near they are to its limits. */
function ledgerFamilies(ports: AdminPorts): Family[] {
  const gauges = ports.gauges();
  const plain = (name: string, help: string, value: number): Family =>
    gauge(name, help, [one(value)]);
  return [
    gauge('svc_rows', 'Messages and replies in the ledger, by where they stand.', [
      one(gauges.inboxWaiting, { box: 'in', state: 'waiting' }),
      one(gauges.inboxClaimed, { box: 'in', state: 'claimed' }),
      one(gauges.outboxWaiting, { box: 'out', state: 'waiting' }),
      one(gauges.outboxClaimed, { box: 'out', state: 'claimed' }),
      one(gauges.outboxDeferred, { box: 'out', state: 'deferred' }),
    ]),
    gauge(
      'svc_backlog_rows',
      'Unsettled rows of each channel.',
      ownBacklogOf(ports).flatMap(({ channel, inbox, outbox }) => [
        one(inbox, { channel, box: 'in' }),
        one(outbox, { channel, box: 'out' }),
      ]),
    ),
    gauge(
      'svc_backlog_oldest_seconds',
      'How long ago the oldest unsettled row of each channel was accepted or made.',
      ownBacklogOf(ports).map(({ channel, oldestAt }) =>
        one(Math.max(0, ports.now() - (oldestAt ?? ports.now())) / 1_000, { channel }),
      ),
    ),
    plain('svc_dead_letters_kept', 'Dead letters kept for the operator.', gauges.deadLetters),
    plain(
      'svc_suspects',
      'Messages that may have ended the process, held to run alone.',
      gauges.suspects,
    ),
    plain('svc_held', 'Conversations that an operator answers by hand.', gauges.held),
    plain(
      'svc_unroutable_rows',
      'Unsettled rows of channels that are not configured.',
      gauges.unroutable,
    ),
    counter('svc_traces_dropped_total', 'Traces left out because the storage was behind.', [
      one(gauges.tracesDropped),
    ]),
    plain('svc_held_bytes', 'Bytes of unsettled messages and replies.', gauges.bytesHeld),
    plain('svc_held_bytes_max', 'Bytes at which messages are refused.', gauges.bytesMax),
    plain('svc_messages_max', 'Unsettled messages at which more are refused.', gauges.messagesMax),
    plain('svc_conversations_at_work', 'Conversations in work.', gauges.conversationsAtWork),
    plain('svc_remembered_bytes', 'Bytes of history kept at hand.', gauges.rememberedBytes),
    plain('svc_commits_pending', 'Commits not yet on disk.', gauges.commitsPending),
    plain('svc_connections', 'Connections open on all listeners.', ports.connections()),
  ];
}
