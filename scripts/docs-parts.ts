/** Parts of documents that are made from the source. */
import { topics, type Metric } from '../src/telemetry/prometheus/catalog.ts';

/**
 * Replaces the part of a page between its two marks.
 * @throws if the page does not have exactly one such part
 */
export function generatedPart(page: string, name: string, text: string): string {
  const begin = `<!-- begin: ${name} (npm run docs) -->\n`;
  const [before, rest, ...more] = page.split(begin);
  const at = rest?.indexOf('<!-- end -->') ?? -1;
  if (at < 0 || more.length > 0) throw new Error(`the page has no part or several: ${name}`);
  return `${before}${begin}\n${text}\n${rest!.slice(at)}`;
}

/** The part `metrics` of docs/reference/metrics.md: a table for each topic. */
export function metricTables(): string {
  return Object.entries(topics)
    .map(([topic, metrics]) => `### ${topic}\n\n${tableOf(metrics)}`)
    .join('\n');
}

function tableOf(metrics: Readonly<Record<string, Metric>>): string {
  const rows = Object.entries(metrics).map(([name, { kind, help, labels }]) => [
    `\`${name}\``,
    kind,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ]);
  const all = [['metric', 'type', 'labels', 'meaning'], ...rows];
  const widths = [0, 1, 2, 3].map((at) => Math.max(...all.map((row) => row[at]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |\n`;
  const [head, ...body] = all;
  return line(head!) + line(widths.map((width) => '-'.repeat(width))) + body.map(line).join('');
}
