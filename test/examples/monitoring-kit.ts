/** The files of examples/monitoring, and the names in their expressions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../support/run-svc.ts';

export const folder = join(root, 'examples', 'monitoring');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
};

export const rules = (
  parse(read('svc-alerts.yml')) as { readonly groups: { readonly rules: readonly Rule[] }[] }
).groups.flatMap((group) => group.rules);

export type PrometheusConfig = {
  global: Record<string, string>;
  rule_files: string[];
  scrape_configs: { static_configs: { targets: string[] }[] }[];
};

export const prometheusConfig = (): PrometheusConfig =>
  parse(read('prometheus.yml')) as PrometheusConfig;

type Place = { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
export type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Place;
  readonly description?: string;
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly datasource?: unknown;
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
    readonly datasource: unknown;
  }[];
};

export const dashboard = JSON.parse(read('dashboard.json')) as {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: unknown }[];
  };
  readonly panels: readonly Panel[];
};

/** The panels' expressions, with values in place of Grafana's variables. */
export const panelTargets = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({
    where: `panel ${title}`,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
    words: legendFormat,
  })),
);

/** Every expression of the rules and the panels; `words` are texts with places for labels. */
export const expressions = [
  ...rules.map(({ alert, expr, annotations }) => ({
    where: alert,
    expr,
    words: Object.values(annotations).join(' '),
  })),
  ...panelTargets,
];

export type Matcher = { readonly label: string; readonly values: readonly string[] };

/** The metrics of an expression, each with its label matchers. */
export function metricsIn(expr: string): readonly { name: string; matchers: readonly Matcher[] }[] {
  return Array.from(expr.matchAll(/\b(up|svc_\w+)(?:\{([^}]*)\})?/g), ([, name, asked = '']) => ({
    name: name!,
    matchers: Array.from(
      asked.matchAll(/(\w+) *(?:=~|!~|!=|=) *"([^"]*)"/g),
      ([, label, text]) => ({
        label: label!,
        values: text!.split('|'),
      }),
    ),
  }));
}

/** The labels by which an expression groups or joins, and those in its texts. */
export function labelsIn(expr: string, words: string): readonly string[] {
  const listed = expr.matchAll(/\b(?:by|on|without|ignoring) *\(([^)]*)\)/g);
  const shown = words.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g);
  return [
    ...Array.from(listed, ([, list]) => list!.split(',').map((one) => one.trim())).flat(),
    ...Array.from(shown, ([, label]) => label!),
  ];
}
