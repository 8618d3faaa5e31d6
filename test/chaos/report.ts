/** Reports a run of proofs: the table of the page on reliability, and the run's last lines. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { figuresText, type Finding } from './runner.ts';

const root = join(import.meta.dirname, '..', '..');
export function tableOf(findings: readonly Finding[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const head = ['proof', 'what is held', 'size', 'found', 'seconds', 'seed'];
  const rows = findings.map(({ name, title, amount, seconds, seed, result }) => {
    const facts = [name, title, amount, foundText(result), seconds.toFixed(1), String(seed)];
    return row(facts.map((fact) => fact.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')));
  });
  return [row(head), row(head.map(() => '---')), ...rows].join('\n');
}

function foundText(result: Finding['result']): string {
  switch (result.kind) {
    case 'proved':
      return figuresText(result.figures);
    case 'skipped':
      return `SKIPPED: ${result.why}`;
    case 'failed':
      return `FAILED: ${result.why}`;
    default:
      return result satisfies never;
  }
}

/** A line for each skip, then `N passed, N failed, N skipped`. */
export function summaryOf(findings: readonly Finding[]): string {
  const count = (wanted: Finding['result']['kind']): number =>
    findings.filter(({ result: { kind } }) => kind === wanted).length;
  const skips = findings.flatMap(({ name, result }) =>
    result.kind === 'skipped' ? [`${name} NOT PROVED, SKIPPED: ${result.why}`] : [],
  );
  const [passed, failed] = [count('proved'), count('failed')];
  return [...skips, `${passed} passed, ${failed} failed, ${skips.length} skipped`].join('\n');
}

/** Writes the findings into the page on reliability. */
export function writeReport(findings: readonly Finding[]): void {
  const file = join(root, 'docs', 'how-it-works', 'reliability.md');
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(file, withFindings(readFileSync(file, 'utf8'), findings, day));
  execFileSync(join(root, 'node_modules', '.bin', 'oxfmt'), [file], { cwd: root });
}

/**
 * The page with a row for each finding in its table of runs, and the figures in the section of each
 * proof. The rows and figures of other proofs stay.
 */
export function withFindings(page: string, findings: readonly Finding[], day: string): string {
  const [, table = ''] = page.split(/<!-- chaos: (?:begin|end) -->/);
  const rows = new Map(
    Array.from(table.matchAll(/^\| ([\w-]+) .*$/gm), ([row, name]) => [name, row]),
  );
  rows.delete('proof');
  for (const { name, amount, seconds, seed } of findings) {
    rows.set(name, `| ${[name, day, amount, seconds.toFixed(1), seed].join(' | ')} |`);
  }
  const head = ['| proof | day | size | seconds | seed |', '| --- | --- | --- | --- | --- |'];
  const runs = [...head, ...rows.values()].join('\n');
  const written = between(page, 'chaos', `Machine of the newest run: ${machine()}.\n\n${runs}`);
  return findings.reduce((all, { name, result }) => {
    return between(all, name, figuresOf(result));
  }, written);
}

function figuresOf(result: Finding['result']): string {
  if (result.kind !== 'proved') return `${foundText(result)}.`;
  const figures = Object.entries(result.figures).map((figure) => {
    return `- ${figuresText(Object.fromEntries([figure]))}`;
  });
  const list = ['Found:', figures.join('\n')];
  return [...list, ...(result.table === undefined ? [] : [result.table])].join('\n\n');
}

/** Replaces the text between `<!-- name: begin -->` and `<!-- name: end -->`. */
export function between(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no "${begin}" before a "${end}"`);
  return `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`;
}

function machine(): string {
  const cores = `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})`;
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const { node, sqlite } = process.versions;
  const kernel = release().split('.').slice(0, 2).join('.');
  return `${cores}, ${memory}, ${platform()} ${kernel}, Node ${node}, SQLite ${sqlite}`;
}
