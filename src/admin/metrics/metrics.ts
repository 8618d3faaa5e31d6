/**
 * The metrics page, of this process alone. It reads the meters at each scrape. It watches the
 * event loop and garbage collection from the first scrape on.
 *
 * Labels: registered name of the channel, provider, model of the configuration, box, state, and the
 * stable codes of outcomes. Never an id.
 */
import type { ChannelMeters, TokenTally } from '../../telemetry/meters.ts';
import type { BrainConfig } from '../../config/config.ts';
import { verdicts } from '../../domain/approval.ts';
import { sumOf } from '../../domain/money.ts';
import type { Budget, BudgetLimit } from '../../domain/spend.ts';
import { standings } from '../../domain/health.ts';
import { Histogram } from '../../lib/histogram.ts';
import type { AdminPorts } from '../admin.ts';
import { channelsIn } from '../channel-named.ts';
import { providersOf } from '../call-status.ts';
import type { NameOf } from '../../telemetry/prometheus/catalog.ts';
import {
  expose,
  histogram,
  metric,
  one,
  plain,
  summary,
  type Family,
  type Labels,
  type Sample,
} from '../../telemetry/prometheus/exposition.ts';
import { Fresh } from '../figures.ts';
import { budgetsSummary, type BudgetsSummary } from '../spend.ts';
import {
  LagWatch,
  GarbageWatch,
  processFamilies,
} from '../../telemetry/prometheus/process-metrics.ts';
import { ownChannelsOf, storageOf, ownBacklogOf } from '../status.ts';

/** How long a page waits for the ledger. Prometheus gives up a scrape after 10 s. */
const readMs = 2_000;
/** How long the ledger's answer is used again. */
const freshMs = 5_000;

const states = ['starting', 'up', 'degraded', 'failed', 'stopped', 'unrouted'] as const;

export class MetricsPage implements Disposable {
  readonly #ports: AdminPorts;
  readonly #budgets = new Fresh<'budgets', BudgetsSummary>();
  #lag: LagWatch | null = null;
  #garbage: GarbageWatch | null = null;

  constructor(ports: AdminPorts) {
    this.#ports = ports;
  }

  /** The page with the use of budgets, which the ledger knows. Never rejects. */
  async whole(): Promise<string> {
    return this.text(await this.#readBudgets());
  }

  text(budgets: Pick<BudgetsSummary, 'rows'> = { rows: [] }): string {
    this.#lag ??= new LagWatch();
    this.#garbage ??= new GarbageWatch();
    return expose([
      ...familiesOf(this.#ports),
      ...budgetFamilies(budgets),
      histogram('svc_event_loop_lag_seconds', [{ labels: {}, histogram: this.#lag.histogram }]),
      ...processFamilies(this.#garbage),
    ]);
  }

  /** No rows, if the ledger does not answer in time: everything else is worth a scrape. */
  async #readBudgets(): Promise<Pick<BudgetsSummary, 'rows'>> {
    const ports = this.#ports;
    const none = { rows: [] };
    const { brains } = ports.runningConfig().config;
    if (brains.every(({ budget }) => budget === null)) return none;
    const late = Promise.withResolvers<typeof none>();
    const timer = setTimeout(() => late.resolve(none), readMs);
    const read = (): Promise<BudgetsSummary> => budgetsSummary(ports.reader, brains, ports.now());
    const reading = this.#budgets.summary('budgets', freshMs, ports.now(), read);
    try {
      return await Promise.race([reading, late.promise]);
    } catch {
      return none;
    } finally {
      clearTimeout(timer);
    }
  }

  [Symbol.dispose](): void {
    this.#lag?.[Symbol.dispose]();
    this.#garbage?.[Symbol.dispose]();
  }
}

function familiesOf(ports: AdminPorts): Family[] {
  return [
    ...serviceFamilies(ports),
    ...messageFamilies(ports),
    ...deliveryFamilies(ports),
    ...durationFamilies(ports),
    ...ledgerFamilies(ports),
    loadFamily(ports),
    ...spendFamilies(ports),
    shortageFamily(ports),
    standingFamily(ports),
    ...agentFamilies(ports),
    attachmentFamily(ports),
    ...operatorFamilies(ports),
  ];
}

function serviceFamilies(ports: AdminPorts): Family[] {
  const runningConfig = ports.runningConfig();
  const channels = ownChannelsOf(runningConfig);
  return [
    metric('svc_build_info', [
      one(1, { version: ports.version, storage: storageOf(runningConfig.config) }),
    ]),
    metric('svc_healthy', [one(ports.health().status === 'ok' ? 1 : 0)]),
    metric(
      'svc_channel_state',
      channels.flatMap((channel) =>
        states.map((state) =>
          one(channel.state === state ? 1 : 0, { channel: channel.name, state }),
        ),
      ),
    ),
    metric(
      'svc_channel_last_seen_seconds',
      channels.flatMap(({ name, lastSeenAt }) =>
        lastSeenAt === null
          ? []
          : [one(Math.max(0, ports.now() - lastSeenAt) / 1_000, { channel: name })],
      ),
    ),
    metric('svc_config_warnings', [one(runningConfig.warnings.length)]),
    metric('svc_faults_total', [one(ports.meters.faults)]),
  ];
}

/** A channel's series begin at zero, since a series that begins with its first event hides it. */
function channelsOf(ports: AdminPorts): [string, ChannelMeters][] {
  const names = new Set([
    ...channelsIn(ports.runningConfig().config).map(({ name }) => name),
    ...ports.meters.channels.keys(),
  ]);
  return [...names].map((name) => [name, ports.meters.channels.get(name) ?? unmet]);
}

const unmet: ChannelMeters = {
  accepted: 0,
  duplicates: 0,
  refused: new Map(),
  turnedAway: new Map(),
  confirmedEarly: 0,
  waited: new Histogram(),
  turns: new Histogram(),
  firstWords: new Histogram(),
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
    metric(
      'svc_messages_accepted_total',
      each((counts) => counts.accepted),
    ),
    metric(
      'svc_messages_duplicate_total',
      each((counts) => counts.duplicates),
    ),
    metric(
      'svc_messages_refused_total',
      channels.flatMap(([channel, { refused }]) =>
        [...refused].map(([code, { count }]) => one(count, { channel, code })),
      ),
    ),
    metric(
      'svc_messages_turned_away_total',
      channels.flatMap(([channel, { turnedAway }]) =>
        [...turnedAway].map(([reason, { count }]) => one(count, { channel, reason })),
      ),
    ),
    metric(
      'svc_messages_confirmed_early_total',
      each((counts) => counts.confirmedEarly),
    ),
    metric(
      'svc_decisions_total',
      Object.entries(meters.decisions).map(([decision, count]) => one(count, { decision })),
    ),
  ];
}

function deliveryFamilies(ports: AdminPorts): Family[] {
  const channels = channelsOf(ports);
  return [
    metric(
      'svc_replies_settled_total',
      channels.flatMap(([channel, { delivered, deadLetters }]) => [
        one(delivered, { channel, result: 'delivered' }),
        one(deadLetters.out, { channel, result: 'dead' }),
      ]),
    ),
    metric(
      'svc_dead_letters_total',
      channels.flatMap(([channel, { deadLetters }]) => [
        one(deadLetters.in, { channel, box: 'in' }),
        one(deadLetters.out, { channel, box: 'out' }),
      ]),
    ),
    metric(
      'svc_delivery_attempts_total',
      channels.flatMap(([channel, { delivered, failedTries }]) => [
        one(delivered, { channel, outcome: 'delivered' }),
        ...[...failedTries].map(([outcome, { count }]) => one(count, { channel, outcome })),
      ]),
    ),
  ];
}

function durationFamilies(ports: AdminPorts): Family[] {
  const channels = channelsOf(ports);
  const byChannel = (
    name: NameOf<'histogram'>,
    key: 'waited' | 'turns' | 'endToEnd' | 'firstWords',
  ): Family =>
    histogram(
      name,
      channels.map(([channel, counts]) => ({ labels: { channel }, histogram: counts[key] })),
    );
  const { providers, firstWords } = ports.meters;
  const streaming = new Set([...providersInUse(ports), ...firstWords.keys()]);
  return [
    byChannel('svc_wait_seconds', 'waited'),
    byChannel('svc_turn_seconds', 'turns'),
    byChannel('svc_end_to_end_seconds', 'endToEnd'),
    byChannel('svc_first_word_seconds', 'firstWords'),
    histogram(
      'svc_model_seconds',
      [...providers].flatMap(([provider, { calls }]) =>
        [...calls].map(([outcome, { took }]) => ({
          labels: { provider, outcome },
          histogram: took,
        })),
      ),
    ),
    histogram(
      'svc_model_first_word_seconds',
      Array.from(streaming, (provider) => ({
        labels: { provider },
        histogram: firstWords.get(provider) ?? unmet.firstWords,
      })),
    ),
  ];
}

function shortageFamily({ meters }: AdminPorts): Family {
  const samples = Object.entries(meters.shortages).map(([of, { count }]) => one(count, { of }));
  return metric('svc_shortages_total', samples);
}

function spendFamilies(ports: AdminPorts): Family[] {
  const { tokens, reuse, refusals } = ports.meters.spend;
  const { brains } = ports.runningConfig().config;
  const tallies = [...tokens.values()];
  const labelsOf = ({ brain, provider, model }: TokenTally) => ({ brain, provider, model });
  const used = tallies.flatMap((tally) => [
    one(tally.input, { ...labelsOf(tally), kind: 'input' }),
    one(tally.output, { ...labelsOf(tally), kind: 'output' }),
  ]);
  const sums = [...reuse.values()].map(({ model, source, sum, count }) => {
    return { labels: { model, source }, sum, count };
  });
  const costs = tallies.flatMap((tally) =>
    tally.cost === null ? [] : [one(tally.cost, labelsOf(tally))],
  );
  const refused = [...refusals.values()].map(({ brain, limit, count }) => {
    return one(count, { brain, limit });
  });
  return [
    metric('svc_tokens_total', used),
    metric(
      'svc_cached_tokens_total',
      tallies.map((tally) => one(tally.cached, labelsOf(tally))),
    ),
    summary('svc_prompt_reuse_ratio', sums),
    metric('svc_cost_total', withZeros(costs, pricedOf(brains))),
    metric('svc_budget_refusals_total', withZeros(refused, limitedOf(brains))),
  ];
}

/** The labels of all configured models with a price. */
function pricedOf(brains: readonly BrainConfig[]): Labels[] {
  return brains.flatMap(({ name: brain, models }) =>
    models.flatMap(({ provider, modelId, price }) =>
      price === null ? [] : [{ brain, provider, model: `${provider}/${modelId}` }],
    ),
  );
}

/** The labels of all configured limits of budgets. */
function limitedOf(brains: readonly BrainConfig[]): Labels[] {
  return brains.flatMap(({ name: brain, budget }) =>
    limitNames.flatMap(([limit, field]) => (budget?.[field] == null ? [] : [{ brain, limit }])),
  );
}

const limitNames = [
  ['tokens_per_turn', 'tokensPerTurn'],
  ['tokens_per_day', 'tokensPerDay'],
  ['cost_per_day', 'costPerDay'],
  ['tokens_per_sender_per_day', 'tokensPerSenderPerDay'],
] as const satisfies [BudgetLimit, keyof Budget][];

/** Adds a zero for each of these series without a sample: a counter begins at zero. */
function withZeros(samples: readonly Sample[], series: readonly Labels[]): Sample[] {
  const keyOf = (labels: Labels): string => Object.values(labels).join('\n');
  const known = new Set(samples.map(({ labels }) => keyOf(labels)));
  const missing = new Map(series.map((labels) => [keyOf(labels), labels] as const));
  for (const key of known) missing.delete(key);
  return [...samples, ...Array.from(missing.values(), (labels) => one(0, labels))];
}

/** Limits for a day. How much of the other limits is used depends on the turn or the person. */
function budgetFamilies({ rows }: Pick<BudgetsSummary, 'rows'>): Family[] {
  const ofDay = rows.flatMap(({ brain, limits }) =>
    limits.flatMap(({ limit, most, used, reserved }) =>
      used === null
        ? []
        : [{ labels: { brain, limit }, most, taken: sumOf(used, reserved ?? '0') }],
    ),
  );
  return [
    metric(
      'svc_budget_limit',
      ofDay.map(({ labels, most }) => one(Number(most), labels)),
    ),
    metric(
      'svc_budget_used',
      ofDay.map(({ labels, taken }) => one(Number(taken), labels)),
    ),
  ];
}

function providersInUse(ports: AdminPorts): ReadonlySet<string> {
  const { brains } = ports.runningConfig().config;
  return new Set(brains.flatMap(({ models }) => models.map(({ provider }) => provider)));
}

function loadFamily(ports: AdminPorts): Family {
  const inUse = providersInUse(ports);
  const samples = [...ports.modelLoads()].flatMap(([provider, { inFlight, waiting }]) => {
    // A model that left the configuration stays while a retired running configuration calls it.
    if (!inUse.has(provider) && inFlight + waiting === 0) return [];
    return [
      one(inFlight, { provider, state: 'in_flight' }),
      one(waiting, { provider, state: 'waiting' }),
    ];
  });
  return metric('svc_model_calls', samples);
}

function standingFamily(ports: AdminPorts): Family {
  const providers = providersOf(ports.meters, ports.runningConfig().config);
  const samples = providers.flatMap(({ provider, standing }) =>
    standings.map((state) => one(standing === state ? 1 : 0, { provider, state })),
  );
  return metric('svc_provider_state', samples);
}

function agentFamilies(ports: AdminPorts): Family[] {
  const { meters } = ports;
  const calls = [...meters.tools.values()].map(({ count, tool, mode, outcome }) =>
    one(count, { tool, mode, outcome }),
  );
  const { byVerdict, waitedMs, waiting, oldestAt } = meters.approvals;
  const oldestMs = oldestAt === null ? 0 : Math.max(0, ports.now() - oldestAt);
  const waited = verdicts.map((verdict) => {
    return { labels: { verdict }, sum: waitedMs[verdict] / 1_000, count: byVerdict[verdict] };
  });
  return [
    metric('svc_tool_calls_total', calls),
    metric(
      'svc_approvals_total',
      verdicts.map((verdict) => one(byVerdict[verdict], { verdict })),
    ),
    plain('svc_approvals_waiting', waiting),
    plain('svc_approvals_oldest_seconds', oldestMs / 1_000),
    summary('svc_approval_wait_seconds', waited),
  ];
}

function attachmentFamily({ meters }: AdminPorts): Family {
  const samples = [...meters.unread.values()].map(({ count, channel, part, reason }) =>
    one(count, { channel, part, reason }),
  );
  return metric('svc_attachments_unread_total', samples);
}

function operatorFamilies({ meters }: AdminPorts): Family[] {
  return [
    metric(
      'svc_admin_writes_total',
      [...meters.writes].flatMap(([action, statuses]) =>
        [...statuses].map(([status, { count }]) => one(count, { action, status: `${status}` })),
      ),
    ),
    metric(
      'svc_config_reloads_total',
      [...meters.configs].map(([result, { count }]) => one(count, { result })),
    ),
    metric(
      'svc_admin_bearers_refused_total',
      Object.entries(meters.bearersRefused).map(([why, { count }]) => one(count, { why })),
    ),
  ];
}

/** The rows in the ledger now, and how near they are to its limits. */
function ledgerFamilies(ports: AdminPorts): Family[] {
  const gauges = ports.gauges();
  return [
    metric('svc_rows', [
      one(gauges.inboxWaiting, { box: 'in', state: 'waiting' }),
      one(gauges.inboxClaimed, { box: 'in', state: 'claimed' }),
      one(gauges.outboxWaiting, { box: 'out', state: 'waiting' }),
      one(gauges.outboxClaimed, { box: 'out', state: 'claimed' }),
      one(gauges.outboxDeferred, { box: 'out', state: 'deferred' }),
    ]),
    metric(
      'svc_backlog_rows',
      ownBacklogOf(ports).flatMap(({ channel, inbox, outbox }) => [
        one(inbox, { channel, box: 'in' }),
        one(outbox, { channel, box: 'out' }),
      ]),
    ),
    metric(
      'svc_backlog_oldest_seconds',
      ownBacklogOf(ports).map(({ channel, oldestAt }) =>
        one(Math.max(0, ports.now() - (oldestAt ?? ports.now())) / 1_000, { channel }),
      ),
    ),
    plain('svc_dead_letters_kept', gauges.deadLetters),
    plain('svc_suspects', gauges.suspects),
    plain('svc_held', gauges.held),
    plain('svc_unroutable_rows', gauges.unroutable),
    metric('svc_traces_dropped_total', [one(gauges.tracesDropped)]),
    plain('svc_held_bytes', gauges.bytesHeld),
    plain('svc_held_bytes_max', gauges.bytesMax),
    plain('svc_messages_max', gauges.messagesMax),
    plain('svc_conversations_at_work', gauges.conversationsAtWork),
    plain('svc_remembered_bytes', gauges.rememberedBytes),
    plain('svc_commits_pending', gauges.commitsPending),
    plain('svc_connections', ports.connections()),
  ];
}
