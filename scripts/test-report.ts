/** Formats a test run: all failures in full, and node:test's own summary. */
import { relative } from 'node:path';
import type { FileOutcome, Outcome, Result } from './test-run.ts';

const rule = '─'.repeat(60);

/**
 * Formats all failures: place, error and the output of the file. The faults of no file come last.
 * Empty if nothing failed.
 * @param root printed paths are relative to it
 */
export function failuresOf({ files, output, faults: others }: Outcome, root: string): string {
  const failures = files.filter(hasFailed).map(({ file, results, faults, said }) => {
    const failed = results.filter(isFailure).map(({ name, at, error }) => {
      return `✖ ${name}${at && ` (${relative(root, at)})`}\n${indented(error ?? '')}`;
    });
    const wrong = faults.map((fault) => `✖ ${indented(fault).trim()}`);
    const about = said.map((text) => `ℹ ${text}`);
    const text = output[file] ?? '';
    const wrote = text === '' ? [] : [`it wrote:\n${indented(text)}`];
    return [rule, relative(root, file), ...failed, ...wrong, ...about, ...wrote].join('\n');
  });
  return [...failures, ...others.map((fault) => `✖ ${fault}`)]
    .join('\n')
    .replaceAll(`${root}/`, '');
}

export function hasFailed({ results, faults }: FileOutcome): boolean {
  return faults.length > 0 || results.some(isFailure);
}

/** Ignores a test in which only an inner test failed. */
function isFailure({ state, error }: Result): boolean {
  return (state === 'failed' || state === 'cancelled') && error !== null;
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');

/** Lists the skipped tests with reasons; empty if all ran. */
export function skippedOf({ files }: Outcome): string {
  const skipped = files
    .flatMap(({ results }) => results)
    .filter(({ state }) => state === 'skipped');
  const byReason = Map.groupBy(skipped, ({ why }) => why ?? 'the tests do not say why');
  return [...byReason].map(([why, all]) => `SKIPPED ${whatOf(all)}: ${why}`).join('\n');
}

/** node:test does not report how many tests a skipped suite has. */
function whatOf(skipped: readonly Result[]): string {
  const counts = Map.groupBy(skipped, ({ kind }) => kind);
  return [...counts]
    .map(([kind, { length }]) => `${length} ${kind}${length === 1 ? '' : 's'}`)
    .join(' and ');
}

/** The totals in node:test's form. @param ms the duration of the run */
export function summaryOf({ files }: Outcome, ms: number): string {
  const results = files.flatMap((outcome) => outcome.results);
  const tests = results.filter(({ kind }) => kind === 'test');
  const count = (wanted: Result['state']): number =>
    tests.filter(({ state }) => state === wanted).length;
  const totals = {
    tests: tests.length,
    suites: results.length - tests.length,
    pass: count('passed'),
    fail: count('failed'),
    cancelled: count('cancelled'),
    skipped: count('skipped'),
    todo: count('todo'),
    duration_ms: Math.round(ms),
  };
  return Object.entries(totals)
    .map(([name, value]) => `ℹ ${name} ${value}`)
    .join('\n');
}
