import assert from 'node:assert/strict';
import { test } from 'node:test';
import parseByOthers from 'parse-prometheus-text-format';
import { live, makeWorld, messageId, senderId } from '../../../test/fake/admin-world.ts';
import type { ApprovalId, ChannelKey, ModelName } from '../../domain/ids.ts';
import { catalog, type Metric } from '../../telemetry/prometheus/catalog.ts';
import { expose } from '../../telemetry/prometheus/exposition.ts';
import { Histogram } from '../../lib/histogram.ts';
import { LagWatch } from '../../telemetry/prometheus/process-metrics.ts';
import { MetricsPage } from './metrics.ts';
import { statusOf } from '../status.ts';

const label = String.raw`[a-z_]+="(?:[^"\\\n]|\\["\\n])*"`;
const number = String.raw`-?[\d.]+(?:e[+-]?\d+)?|NaN|[+-]Inf`;
const sample = new RegExp(
  String.raw`^([a-z_:][\w:]*)(\{${label}(?:,${label})*\})? (${number})$`,
  'i',
);

/** Every sample by its name and labels. Fails on a malformed line. */
function parse(text: string): Map<string, number> {
  assert.ok(text.endsWith('\n'));
  const types = new Map<string, string>();
  const samples = new Map<string, number>();
  for (const line of text.trimEnd().split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type !== null) {
      assert.ok(!types.has(type[1]!), `${type[1]} is told twice`);
      types.set(type[1]!, type[2]!);
    }
    if (line.startsWith('# ') || line === '') continue;
    const match = sample.exec(line);
    assert.ok(match !== null, `not of the format: ${line}`);
    const family = match[1]!.replace(/_(bucket|sum|count)$/, '');
    assert.ok(types.has(match[1]!) || types.has(family), `without a type: ${line}`);
    assert.match(match[1]!, /^svc_/);
    const key = match[1]! + (match[2] ?? '');
    assert.ok(!samples.has(key), `${key} is told twice`);
    samples.set(key, Number(match[3]));
  }
  return samples;
}

function keyOf(name: string, labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
}

test('a parser of others reads the page as it is meant', () => {
  const world = makeWorld();
  live(world.events);
  using page = new MetricsPage(world.ports);
  const text = page.text();
  const families = parseByOthers(text);
  assert.deepEqual(
    families.map(({ name, type }) => `${name} ${type.toLowerCase()}`),
    Array.from(text.matchAll(/^# TYPE (.*)$/gm), ([, family]) => family),
  );
  assert.ok(families.every(({ help }) => help.endsWith('.')));
  // The parser takes the series of a histogram or a summary for one metric.
  const plain = families.filter(({ type }) => !/HISTOGRAM|SUMMARY/.test(type));
  const samples = plain.flatMap(({ name, metrics }) =>
    metrics.map(({ labels, value }) => [keyOf(name, labels), Number(value)] as const),
  );
  const expected = [...parse(text)].filter(([key]) => !/_(?:bucket|sum|count)\b/.test(key));
  assert.deepEqual(new Map(samples), new Map(expected));
});

test('a histogram counts up to its last bucket, for a parser of others too', () => {
  const histogram = new Histogram();
  for (const ms of [0.5, 3, 3, 700_000]) histogram.observe(ms);
  const text = expose([
    { kind: 'histogram', name: 'svc_x_seconds', help: 'X.', series: [{ labels: {}, histogram }] },
  ]);
  const [family] = parseByOthers(text);
  const { buckets, count, sum } = family!.metrics[0]!;
  assert.deepEqual([count, Number(sum)], ['4', 700.0065]);
  assert.equal(Object.keys(buckets!).length, Histogram.boundsMs.length + 1);
  const { '0.001': first, '0.0025': second, '0.005': third, '600': last, '+Inf': all } = buckets!;
  assert.deepEqual([first, second, third, last, all], ['1', '1', '3', '3', '4']);
});

test('the page is valid, and holds what happened, the bounds and the process', async () => {
  const world = makeWorld();
  live(world.events);
  using page = new MetricsPage(world.ports);
  const text = page.text();
  const samples = parse(text);
  const expected = {
    'svc_messages_accepted_total{channel="webhook"}': 1,
    'svc_messages_refused_total{channel="webhook",code="inbox_full"}': 1,
    'svc_decisions_total{decision="reply"}': 1,
    'svc_replies_settled_total{channel="webhook",result="delivered"}': 1,
    'svc_replies_settled_total{channel="webhook",result="dead"}': 1,
    'svc_dead_letters_total{channel="webhook",box="out"}': 1,
    'svc_delivery_attempts_total{channel="webhook",outcome="delivered"}': 1,
    'svc_delivery_attempts_total{channel="webhook",outcome="gone"}': 1,
    'svc_model_seconds_count{provider="local_runtime",outcome="timeout"}': 1,
    'svc_model_seconds_bucket{provider="local_runtime",outcome="answer",le="0.025"}': 0,
    'svc_model_seconds_bucket{provider="local_runtime",outcome="answer",le="0.05"}': 1,
    'svc_model_seconds_bucket{provider="local_runtime",outcome="answer",le="0.1"}': 1,
    'svc_model_seconds_bucket{provider="local_runtime",outcome="answer",le="+Inf"}': 1,
    'svc_model_seconds_sum{provider="local_runtime",outcome="answer"}': 0.04,
    'svc_tool_calls_total{tool="calc",mode="shadow",outcome="rehearsed"}': 1,
    'svc_turn_seconds_count{channel="webhook"}': 1,
    'svc_wait_seconds_sum{channel="webhook"}': 0.002,
    'svc_end_to_end_seconds_count{channel="webhook"}': 1,
    'svc_channel_state{channel="webhook",state="degraded"}': 1,
    'svc_channel_state{channel="webhook",state="up"}': 0,
    'svc_rows{box="out",state="deferred"}': 5,
    'svc_backlog_rows{channel="messenger_a",box="in"}': 2,
    'svc_backlog_oldest_seconds{channel="messenger_a"}': 3,
    'svc_provider_state{provider="local_runtime",state="up"}': 1,
    'svc_provider_state{provider="local_runtime",state="degraded"}': 0,
    'svc_provider_state{provider="hosted_runtime",state="unknown"}': 1,
    svc_held_bytes: 700,
    svc_held_bytes_max: 67_108_864,
    svc_messages_max: 10_000,
    svc_remembered_bytes: 80,
    svc_connections: 4,
    'svc_model_calls{provider="local_runtime",state="in_flight"}': 2,
    'svc_model_calls{provider="local_runtime",state="waiting"}': 3,
    svc_healthy: 1,
  };
  for (const [key, value] of Object.entries(expected)) assert.equal(samples.get(key), value, key);
  assert.ok(samples.has('svc_event_loop_lag_seconds_count'));
  assert.ok(![...samples.values()].some(Number.isNaN), text);
  assert.doesNotMatch(text, new RegExp(`${messageId}|${senderId}|WEBHOOK_SECRET|the answer`));
});

test('the page is read anew each time, and never grows by being read', async () => {
  const world = makeWorld();
  using page = new MetricsPage(world.ports);
  live(world.events);
  page.text();
  live(world.events);
  const [, second] = [page.text(), page.text()];
  assert.equal(parse(second).get('svc_messages_accepted_total{channel="webhook"}'), 2);
});

test('a channel counts from zero, before its first message', async () => {
  using page = new MetricsPage(makeWorld().ports);
  const samples = parse(page.text());
  for (const channel of ['webhook', 'messenger_a']) {
    assert.equal(samples.get(`svc_messages_accepted_total{channel="${channel}"}`), 0);
    assert.equal(samples.get(`svc_turn_seconds_count{channel="${channel}"}`), 0);
  }
});

test('the lag of the event loop is how late a timer rang', async () => {
  const startedAt = performance.now();
  using watch = new LagWatch();
  const endAt = performance.now() + 160;
  while (performance.now() < endAt);
  while (watch.histogram.count === 0) await new Promise(setImmediate);
  const { sumMs } = watch.histogram;
  const lastedMs = performance.now() - startedAt;
  assert.ok(sumMs > 40 && sumMs < lastedMs - 90, `${sumMs} of ${lastedMs}`);
});

test('more messages make no more lines', async () => {
  const world = makeWorld();
  using page = new MetricsPage(world.ports);
  live(world.events);
  const before = [...parse(page.text()).keys()].filter((key) => !/nodejs/.test(key));
  for (let n = 0; n < 100; n++) live(world.events);
  const after = [...parse(page.text()).keys()].filter((key) => !/nodejs/.test(key));
  assert.deepEqual(after, before);
});

test('a label cannot break out of its quotes', () => {
  const samples = [{ labels: { code: 'a"} 1\nevil{b="\\' }, value: 1 }];
  const text = expose([{ kind: 'gauge', name: 'svc_x', help: 'X.', samples }]);
  assert.equal(text.trimEnd().split('\n').length, 3);
  assert.equal(parse(text).size, 1);
  assert.deepEqual(parseByOthers(text)[0]!.metrics, [{ ...samples[0], value: '1' }]);
});

test('whom a gate turned away is counted, and how long a platform was not heard of', async () => {
  const world = makeWorld();
  const channel = 'messenger_a:4711' as ChannelKey;
  for (let i = 0; i < 3; i++) world.events.messageTurnedAway({ channel, reason: 'stranger' });
  world.events.messageTurnedAway({ channel, reason: 'not_addressed' });
  const plan = world.ports.runningConfig();
  const type = 'messenger_a';
  const bot = { name: type, type, state: 'up', since: 0, reason: null } as const;
  const view = { ...bot, key: channel, isHeld: true, lastSeenAt: world.clockMs - 2_500 };
  const of = (isHeld: boolean) => ({ ...plan, channels: [{ ...view, isHeld }] });
  world.ports = { ...world.ports, runningConfig: () => of(true) };
  using metrics = new MetricsPage(world.ports);
  const page = metrics.text();
  const away = 'svc_messages_turned_away_total{channel="messenger_a"';
  assert.ok(page.includes(`${away},reason="stranger"} 3\n`));
  assert.ok(page.includes(`${away},reason="not_addressed"} 1\n`));
  assert.ok(page.includes('svc_channel_last_seen_seconds{channel="messenger_a"} 2.5\n'));
  world.ports = { ...world.ports, runningConfig: () => of(false) };
  using waiting = new MetricsPage(world.ports);
  const ofPlatform = /svc_channel_(?:state|last_seen_seconds)\{channel="messenger_a"/;
  assert.doesNotMatch(waiting.text(), ofPlatform, 'another instance has its connection');
});

test('what left the configuration has counters, and no state', async () => {
  const world = makeWorld();
  live(world.events);
  const model = 'hosted_runtime/big' as ModelName;
  world.events.modelAnswered({ model, provider: 'hosted_runtime', result: 'timeout', ms: 40 });
  const plan = world.ports.runningConfig();
  const brains = plan.config.brains.map((brain) => {
    return { ...brain, models: brain.models.filter(({ locality }) => locality === 'local') };
  });
  const none = { inFlight: 0, waiting: 0 };
  const loads = new Map([
    ['local_runtime', none],
    ['hosted_runtime', none],
  ]);
  world.ports = {
    ...world.ports,
    runningConfig: () => ({ ...plan, config: { ...plan.config, brains } }),
    modelLoads: () => loads,
  };
  using metrics = new MetricsPage(world.ports);
  const page = metrics.text();
  assert.match(page, /svc_model_seconds_count\{provider="hosted_runtime",outcome="timeout"\} 1/);
  assert.doesNotMatch(page, /svc_(provider_state|model_calls)\{provider="hosted_runtime"/);
  assert.match(page, /svc_model_calls\{provider="local_runtime",state="waiting"\} 0/);
  loads.set('hosted_runtime', { inFlight: 1, waiting: 0 });
  assert.match(metrics.text(), /svc_model_calls\{provider="hosted_runtime"[^}]*\} 1/);
  const { providers, models } = await statusOf(world.ports, 'read_only', 'reader');
  assert.deepEqual(
    models.map(({ inUse, failures, answeredByOthers }) => [inUse, failures, answeredByOthers]),
    [
      [true, 1, 0],
      [false, 1, null],
    ],
  );
  assert.deepEqual(
    [providers.map(({ provider }) => provider), models.map(({ model: name }) => name)],
    [['local_runtime'], ['local_runtime/small', 'hosted_runtime/big']],
  );
});

test('tokens are counted by brain and model', () => {
  const world = makeWorld();
  const model = 'hosted_runtime/big' as ModelName;
  for (const estimated of [true, false]) {
    const used = { input: 900, output: 80, estimated };
    world.events.modelSpent({ brain: 'main', model, used, price: null });
  }
  using metrics = new MetricsPage(world.ports);
  const told = [...parse(metrics.text())].filter(([key]) => key.startsWith('svc_tokens_total'));
  const of = (kind: string): string =>
    `svc_tokens_total{brain="main",provider="hosted_runtime",model="${model}",kind="${kind}"}`;
  assert.deepEqual(told, [
    [of('input'), 1_800],
    [of('output'), 160],
  ]);
});

const budgetOf = (metric: string, limit: string): string =>
  `svc_budget_${metric}{brain="main",limit="${limit}"}`;

test('the page tells how much of the budget of a day is used, and what calls cost', async () => {
  const world = makeWorld();
  using metrics = new MetricsPage(world.ports);
  const samples = parse(await metrics.whole());
  assert.equal(samples.get(budgetOf('limit', 'tokens_per_day')), 1_000);
  assert.equal(samples.get(budgetOf('used', 'tokens_per_day')), 400, 'used and reserved');
  assert.equal(samples.get(budgetOf('limit', 'cost_per_day')), 0.5);
  assert.equal(samples.get(budgetOf('used', 'cost_per_day')), 0.0016);
  assert.equal(samples.get(budgetOf('refusals_total', 'tokens_per_turn')), 0);
  assert.ok(!samples.has(budgetOf('used', 'tokens_per_sender_per_day')), 'it is of one person');
  world.events.budgetRefused({ brain: 'main', limit: 'tokens_per_turn' });
  const model = 'hosted_runtime/big' as ModelName;
  const used = { input: 3_000_000, output: 0, estimated: false };
  world.events.modelSpent({ brain: 'main', model, used, price: { input: '0.5', output: '1' } });
  const after = parse(await metrics.whole());
  assert.equal(after.get(budgetOf('refusals_total', 'tokens_per_turn')), 1);
  const cost = `svc_cost_total{brain="main",provider="hosted_runtime",model="${model}"}`;
  assert.equal(after.get(cost), 1.5);
});

test('the page comes without the use of budgets where the ledger does not answer', async () => {
  const world = makeWorld();
  const reader = { ...world.ports.reader, spent: () => Promise.reject(new Error('away')) };
  world.ports = { ...world.ports, reader };
  using metrics = new MetricsPage(world.ports);
  const samples = parse(await metrics.whole());
  assert.ok(!samples.has(budgetOf('used', 'tokens_per_day')));
  assert.equal(samples.get('svc_healthy'), 1);
});

test('a model with a price costs zero before its first call', () => {
  const world = makeWorld();
  const plan = world.ports.runningConfig();
  const brains = plan.config.brains.map((brain) => {
    const price = { input: '1', output: '2' };
    return { ...brain, models: brain.models.map((one) => ({ ...one, price })) };
  });
  const config = { ...plan.config, brains };
  world.ports = { ...world.ports, runningConfig: () => ({ ...plan, config }) };
  using metrics = new MetricsPage(world.ports);
  const costs = [...parse(metrics.text())].filter(([key]) => key.startsWith('svc_cost_total{'));
  const models = brains.flatMap((brain) => brain.models);
  assert.deepEqual(
    costs.map(([, value]) => value),
    models.map(() => 0),
  );
});

test('how long calls wait for an approval, and first words, are on the page', () => {
  const world = makeWorld();
  const channel = 'webhook' as ChannelKey;
  const call = { channel, id: 'a1' as ApprovalId, brain: 'main', tool: 'calc' };
  for (const waitedMs of [4_000, 6_000]) {
    world.events.approvalDecided({ ...call, verdict: 'approved', by: 'operator', waitedMs });
  }
  world.events.approvalsWait(2, world.clockMs - 90_000);
  world.events.firstWord({ channel, ms: 1_500 });
  const model = 'local_runtime/small' as ModelName;
  const answered = { model, provider: 'local_runtime', result: 'answer', ms: 900 } as const;
  world.events.modelAnswered(answered);
  world.events.modelAnswered({ ...answered, firstWordMs: 250 });
  using metrics = new MetricsPage(world.ports);
  const samples = parse(metrics.text());
  const expected = {
    'svc_approval_wait_seconds_sum{verdict="approved"}': 10,
    'svc_approval_wait_seconds_count{verdict="approved"}': 2,
    'svc_approval_wait_seconds_count{verdict="expired"}': 0,
    svc_approvals_waiting: 2,
    svc_approvals_oldest_seconds: 90,
    'svc_first_word_seconds_sum{channel="webhook"}': 1.5,
    'svc_first_word_seconds_count{channel="messenger_a"}': 0,
    'svc_model_first_word_seconds_sum{provider="local_runtime"}': 0.25,
    'svc_model_first_word_seconds_count{provider="local_runtime"}': 1,
  };
  for (const [key, value] of Object.entries(expected)) assert.equal(samples.get(key), value, key);
  world.events.approvalsWait(0, null);
  assert.equal(parse(metrics.text()).get('svc_approvals_oldest_seconds'), 0);
});

test('the page has each metric of the catalog, with the labels that stand there', async () => {
  const world = makeWorld();
  live(world.events);
  using metrics = new MetricsPage(world.ports);
  const page = await metrics.whole();
  const heads = Array.from(page.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, ...head]) => head);
  const onLinux = /^svc_process_(?:virtual|heap|open_fds|max_fds)/;
  assert.deepEqual(
    heads.map(([name, kind]) => `${name} ${kind}`).toSorted(),
    Object.entries(catalog)
      .filter(([name]) => process.platform === 'linux' || !onLinux.test(name))
      .map(([name, { kind }]) => `${name} ${kind}`)
      .toSorted(),
  );
  const known: Readonly<Record<string, Metric>> = catalog;
  for (const [, name = '', pairs = ''] of page.matchAll(/^(svc_\w+)\{(.*)\} \S+$/gm)) {
    const metric = known[name] ?? known[name.replace(/_(?:bucket|sum|count)$/, '')];
    const names = Array.from(pairs.matchAll(/(\w+)="/g), ([, one]) => one);
    const own = names.filter((one) => one !== 'le');
    assert.deepEqual(own, metric?.labels, name);
  }
});
