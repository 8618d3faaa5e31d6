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

/**
 * Writes the table, and the machine's description, between the marks of the page on reliability; a
 * proof's own table goes between the marks with its name.
 */
export function writeReport(findings: readonly Finding[], command: string): void {
  const file = join(root, 'docs', 'how-it-works', 'reliability.md');
  const what = `${new Date().toISOString().slice(0, 10)}, \`${command}\`, ${machine()}.`;
  let page = between(readFileSync(file, 'utf8'), 'chaos', `${what}\n\n${tableOf(findings)}`);
  for (const { name, amount, seed, result } of findings) {
    if (result.kind !== 'proved' || result.table === undefined) continue;
    page = between(page, name, `${what} ${amount}, seed ${seed}.\n\n${result.table}`);
  }
  writeFileSync(file, page);
  execFileSync(join(root, 'node_modules', '.bin', 'oxfmt'), [file], { cwd: root });
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
