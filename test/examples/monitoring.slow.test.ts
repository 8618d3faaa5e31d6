/** The files of examples/monitoring beside a running svc: it exposes every name in them. */
import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { unavailable } from '../../src/channels/refusals.ts';
import { noPrometheus, promtool, startPrometheus } from '../fake/prometheus.ts';
import {
  dashboard,
  expressions,
  folder,
  labelsIn,
  metricsIn,
  panelTargets,
  prometheusConfig,
  rules,
} from './monitoring-kit.ts';
import { catalog } from '../../src/telemetry/prometheus/catalog.ts';
import { atHour27, states } from './monitoring-states.ts';
import { startMonitored } from './monitoring-stage.ts';
import { freePort, scratch } from '../support/program.ts';
import { until } from '../support/waiting.ts';

/** Labels that Prometheus itself adds to each series. */
const ofPrometheus = new Map([
  ['job', new Set(['svc'])],
  ['instance', new Set<string>()],
  ['le', new Set<string>()],
]);

/** Every metric of the page, with its labels and their values. */
function exposedOn(page: string): Map<string, Map<string, Set<string>>> {
  const exposed = new Map([['up', new Map<string, Set<string>>()]]);
  for (const [, name = '', pairs = ''] of page.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)) {
    const labels = exposed.get(name) ?? new Map<string, Set<string>>();
    exposed.set(name, labels);
    for (const [, label = '', value = ''] of pairs.matchAll(/(\w+)="([^"]*)"/g)) {
      labels.set(label, (labels.get(label) ?? new Set()).add(value));
    }
  }
  return exposed;
}

/** Values that occur only with a full inbox or a broken disk. */
const rare = new Set((['full', 'storage_failed'] as const).map((one) => unavailable(one, 0).code));

/** Names of the expression that the page does not have. */
function missingOf(
  { expr, words }: { readonly expr: string; readonly words: string },
  exposed: ReturnType<typeof exposedOn>,
): readonly string[] {
  const named = metricsIn(expr);
  const known = new Map(ofPrometheus);
  const missing: string[] = named.length === 0 ? ['a metric'] : [];
  for (const { name, matchers } of named) {
    const labels = exposed.get(name);
    if (labels === undefined) missing.push(name);
    for (const [label, values] of labels ?? []) known.set(label, values);
    for (const { label, values } of matchers) {
      const there = labels?.get(label) ?? ofPrometheus.get(label);
      if (there === undefined) missing.push(`${name}{${label}}`);
      if (label === 'instance') continue;
      const absent = values.filter((value) => !there?.has(value) && !rare.has(value));
      missing.push(...absent.map((value) => `${name}{${label}="${value}"}`));
    }
  }
  return [...missing, ...labelsIn(expr, words).filter((label) => !known.has(label))];
}

test('a running svc exposes each metric, label and value that rules and panels name', async () => {
  await using it = await startMonitored();
  await it.happens();
  const exposed = exposedOn(await it.page());
  for (const one of expressions) assert.deepEqual(missingOf(one, exposed), [], one.where);
  const wrong = 'sum by (nobody) (svc_none) + svc_rows{box="side", shelf="a"}';
  assert.deepEqual(missingOf({ expr: wrong, words: '{{ $labels.who }}' }, exposed), [
    'svc_none',
    'svc_rows{box="side"}',
    'svc_rows{shelf}',
    'svc_rows{shelf="a"}',
    'nobody',
    'who',
  ]);
});

test('the dashboard asks the data source that is picked, and no panel lies on another', () => {
  const { panels, templating } = dashboard;
  const ids = new Set(panels.map(({ id }) => id));
  assert.equal(ids.size, panels.length);
  const names = templating.list.map(({ name }) => name);
  assert.deepEqual(names, ['datasource', 'instance']);
  const cells = new Set<string>();
  for (const { title, type, gridPos, datasource, targets = [] } of panels) {
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      assert.ok(x < 24, `${title} is within the grid`);
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!cells.has(`${x} ${y}`), `${title} lies on another panel`);
        cells.add(`${x} ${y}`);
      }
    }
    if (type === 'row') continue;
    assert.ok(targets.length > 0, title);
    for (const one of [datasource, ...targets.map((target) => target.datasource)]) {
      assert.deepEqual(one, { type: 'prometheus', uid: '${datasource}' }, title);
    }
  }
  for (const { expr, where } of panelTargets) assert.ok(!expr.includes('$'), `${where}: ${expr}`);
});

test('each panel says what it shows, has a unit, and shows how fast a counter grows', () => {
  const kinds: Readonly<Record<string, { readonly kind: string }>> = catalog;
  for (const { title, type, description = '', fieldConfig, targets = [] } of dashboard.panels) {
    if (type === 'row') continue;
    assert.match(description, /^[A-Z0-9][^]*[.]$/, title);
    if (title !== 'Health') assert.ok(fieldConfig?.defaults.unit !== undefined, title);
    for (const { expr } of targets) {
      for (const [whole, name] of expr.matchAll(/(?:rate|increase)\((\w+)|\bsvc_\w+/g)) {
        const metric = name ?? whole;
        const kind =
          kinds[metric.replace(/_(?:bucket|sum|count)$/, '')]?.kind ?? kinds[metric]?.kind;
        assert.ok(kind !== undefined, `${title}: ${metric}`);
        assert.equal(name === undefined, kind === 'gauge', `${title}: ${metric} is a ${kind}`);
      }
    }
  }
});

test('promtool finds no fault in the configuration and the rules', { skip: noPrometheus }, () => {
  const { ok, said } = promtool(['check', 'config', join(folder, 'prometheus.yml')]);
  assert.ok(ok, said);
  assert.match(said, new RegExp(`${rules.length} rules found`));
  const file = join(folder, 'svc-alerts.yml');
  const linted = promtool(['check', 'rules', '--lint=all', '--lint-fatal', file]);
  assert.ok(linted.ok, linted.said);
});

test(
  'promtool finds no fault in the metrics of a running svc',
  { skip: noPrometheus },
  async () => {
    await using it = await startMonitored();
    await it.happens();
    const page = await it.page();
    assert.deepEqual(promtool(['check', 'metrics'], page), { ok: true, said: '' });
    const families = Array.from(page.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name);
    const silent = families.filter(
      (name) => !new RegExp(`^${name}(?:_count)?[ {]`, 'm').test(page),
    );
    assert.deepEqual(silent, [], 'each metric has something to show');
    const wrong = promtool(['check', 'metrics'], '# TYPE svc_x_total gauge\nsvc_x_total 1\n');
    assert.ok(!wrong.ok && wrong.said.includes('svc_x_total'), wrong.said);
  },
);

test(
  'each alert fires in the state that it is for, and in no other',
  { skip: noPrometheus },
  async () => {
    await using place = await scratch();
    assert.deepEqual(
      Object.keys(states),
      rules.map(({ alert }) => alert),
    );
    const firing = (alert: string): string =>
      `count(ALERTS{alertname="${alert}", alertstate="firing"})`;
    // Prometheus evaluates each rule at each step: over a day that takes larger steps.
    for (const [at, step] of [
      ['60m', '1m'],
      [atHour27, '30m'],
    ] as const) {
      const those = Object.entries(states).filter(([, { at: when = '60m' }]) => when === at);
      const tests = those.flatMap(([alert, { bad, good }]) =>
        [bad, good].map((series) => ({
          interval: '1m',
          name: `${alert} ${series === bad ? 'fires' : 'rests'}`,
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          promql_expr_test: [
            {
              expr: firing(alert),
              eval_time: at,
              exp_samples: series === bad ? [{ labels: '{}', value: 1 }] : [],
            },
          ],
        })),
      );
      assert.ok(tests.length > 0, at);
      const file = join(place.path, `alerts-${at}.test.yml`);
      const rule_files = [join(folder, 'svc-alerts.yml')];
      await writeFile(file, stringify({ rule_files, evaluation_interval: step, tests }));
      const { ok, said } = promtool(['test', 'rules', file]);
      assert.ok(ok, said);
    }
  },
);

type Told = { readonly groups: { readonly rules: { name: string; health: string }[] }[] };
type Alerts = { readonly alerts: { labels: Record<string, string>; state: string }[] };

test(
  'Prometheus scrapes a running svc: alerts fire, and each panel has something to show',
  { skip: noPrometheus },
  async () => {
    await using it = await startMonitored();
    const config = prometheusConfig();
    config.global = { scrape_interval: '200ms', evaluation_interval: '200ms' };
    config.scrape_configs[0]!.static_configs[0]!.targets = [`127.0.0.1:${it.adminPort}`];
    for (const name of config.rule_files) {
      await copyFile(join(folder, name), join(it.path, name));
    }
    const file = join(it.path, 'prometheus.yml');
    await writeFile(file, stringify(config));
    await using prometheus = await startPrometheus(file, await freePort());
    // A counter that appears first with its final value has not grown.
    await until('a first scrape', async () => {
      return (await prometheus.query('svc_dead_letters_total')).length > 0;
    });
    await it.happens();
    for (const alert of [
      'SvcDeadLetters',
      'SvcConfigurationRefused',
      'SvcNoAnswers',
      'SvcBudgetUsedUp',
    ]) {
      await until(alert, async () => {
        const { alerts } = await prometheus.ask<Alerts>('alerts');
        return alerts.some(({ labels }) => labels['alertname'] === alert);
      });
    }
    for (const { where, expr } of panelTargets) {
      const isShown = async (): Promise<boolean> =>
        (await prometheus.query(expr)).some(({ value: [, value] }) => value !== 'NaN');
      await until(`${where} shows ${expr}`, isShown);
    }
    const { groups } = await prometheus.ask<Told>('rules');
    const healths = groups
      .flatMap((group) => group.rules)
      .map(({ name, health }) => [name, health]);
    assert.deepEqual(
      healths,
      rules.map(({ alert }) => [alert, 'ok']),
    );
  },
);
