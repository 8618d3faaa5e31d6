/**
 * Writes metrics as text. Format: the Prometheus exposition format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */
import { Histogram } from '../../lib/histogram.ts';
import { catalog, type NameOf } from './catalog.ts';

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;
export type Sample = { readonly labels: Labels; readonly value: number };

type SampledKind = 'counter' | 'gauge' | 'untyped';

export type Family =
  | {
      readonly kind: SampledKind;
      readonly name: string;
      readonly help: string;
      readonly samples: readonly Sample[];
    }
  | {
      /** Without quantiles: the sum and the number of observations of each series. */
      readonly kind: 'summary';
      readonly name: string;
      readonly help: string;
      readonly sums: readonly Sum[];
    }
  | {
      /** Written in seconds. */
      readonly kind: 'histogram';
      readonly name: string;
      readonly help: string;
      readonly series: readonly Series[];
    };
type Sum = { readonly labels: Labels; readonly sum: number; readonly count: number };
type Series = { readonly labels: Labels; readonly histogram: Readonly<Histogram> };

export function one(value: number, labels: Labels = {}): Sample {
  return { value, labels };
}

/** A counter or gauge of the catalog. */
export function metric(name: NameOf<SampledKind>, samples: readonly Sample[]): Family {
  const { kind, help } = catalog[name];
  return { kind, name, help, samples };
}

/** The same without labels. */
export function plain(name: NameOf<SampledKind>, value: number): Family {
  return metric(name, [one(value)]);
}

export function summary(name: NameOf<'summary'>, sums: readonly Sum[]): Family {
  return { kind: 'summary', name, help: catalog[name].help, sums };
}

export function histogram(name: NameOf<'histogram'>, series: readonly Series[]): Family {
  return { kind: 'histogram', name, help: catalog[name].help, series };
}

/** @returns whole lines, one family after the other */
export function expose(families: readonly Family[]): string {
  return families.map(exposeFamily).join('');
}

function exposeFamily(family: Family): string {
  const { name, help, kind } = family;
  const head = `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
  if (family.kind === 'histogram') {
    const lines = family.series.map((each) => linesOf(name, each));
    return head + lines.join('');
  }
  if (family.kind === 'summary') {
    const lines = family.sums.map(({ labels, sum, count }) => {
      return line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, count);
    });
    return head + lines.join('');
  }
  return head + family.samples.map(({ labels, value }) => line(name, labels, value)).join('');
}

/** Buckets are cumulative: each counts all durations up to its bound. */
function linesOf(name: string, { labels, histogram: counts }: Series): string {
  let text = '';
  let below = 0;
  for (const [at, boundMs] of Histogram.boundsMs.entries()) {
    below += counts.counts[at]!;
    text += line(`${name}_bucket`, { ...labels, le: String(boundMs / 1_000) }, below);
  }
  text += line(`${name}_bucket`, { ...labels, le: '+Inf' }, counts.count);
  text += line(`${name}_sum`, labels, counts.sumMs / 1_000);
  return text + line(`${name}_count`, labels, counts.count);
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
