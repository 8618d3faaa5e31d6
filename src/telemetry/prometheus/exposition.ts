/**
 * Writes metrics as text. Format: the Prometheus exposition format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */
import { Histogram } from '../../lib/histogram.ts';

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;
export type Sample = { readonly labels: Labels; readonly value: number };

export type Family =
  | {
      readonly kind: 'counter' | 'gauge';
      readonly name: string;
      readonly help: string;
      readonly samples: readonly Sample[];
    }
  | {
      /** Without quantiles: the sum and the number of observations of each series. */
      readonly kind: 'summary';
      readonly name: string;
      readonly help: string;
      readonly sums: readonly { labels: Labels; sum: number; count: number }[];
    }
  | {
      /** Written in seconds. */
      readonly kind: 'histogram';
      readonly name: string;
      readonly help: string;
      readonly series: readonly { labels: Labels; histogram: Readonly<Histogram> }[];
    };

export function one(value: number, labels: Labels = {}): Sample {
  return { value, labels };
}

export function counter(name: string, help: string, samples: readonly Sample[]): Family {
  return { kind: 'counter', name, help, samples };
}

export function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { kind: 'gauge', name, help, samples };
}

/** @returns whole lines, one family after the other */
export function expose(families: readonly Family[]): string {
  return families.map(exposeFamily).join('');
}

function exposeFamily(family: Family): string {
  const { name, help, kind } = family;
  const head = `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
  if (family.kind === 'histogram') {
    const lines = family.series.map(({ labels, histogram }) => series(name, labels, histogram));
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
function series(name: string, labels: Labels, histogram: Readonly<Histogram>): string {
  let text = '';
  let below = 0;
  for (const [at, boundMs] of Histogram.boundsMs.entries()) {
    below += histogram.counts[at]!;
    text += line(`${name}_bucket`, { ...labels, le: String(boundMs / 1_000) }, below);
  }
  text += line(`${name}_bucket`, { ...labels, le: '+Inf' }, histogram.count);
  text += line(`${name}_sum`, labels, histogram.sumMs / 1_000);
  return text + line(`${name}_count`, labels, histogram.count);
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
