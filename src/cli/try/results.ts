/** What became of each case, as it is told: secrets masked, and shortened for people. */
import type { Mask } from '../../lib/mask.ts';
import { plainLine } from '../../lib/plain-text.ts';
import type { CaseResult } from '../../app/test-cases/run-cases.ts';
import { signOf } from '../frame/report.ts';

/** `index` is the place in the brain's list, from 0. */
export type CaseRow = {
  readonly brain: string;
  readonly index: number;
  readonly text: string;
  readonly note: string;
  readonly passed: boolean;
  readonly ms: number;
  /** Sentences, of all runs that failed. */
  readonly failures: readonly string[];
  readonly runs: readonly RunResult[];
};

export type RunResult = {
  readonly passed: boolean;
  readonly ms: number;
  readonly reply: string | null;
  readonly failures: readonly string[];
};

export function toldOf(result: CaseResult, mask: Mask): CaseRow {
  const { planned, passed, ms } = result;
  const { brain, index, text, note, expect } = planned;
  const runs = result.runs.map((run): RunResult => {
    return {
      passed: run.passed,
      ms: run.ms,
      reply: run.reply === null ? null : mask.clean(run.reply),
      failures: run.misses.map(({ expected, came }) => {
        return mask.clean(`expected ${expected}, but ${came}`);
      }),
    };
  });
  const share = expect?.of ?? { runs: 1, pass: 1 };
  const good = runs.filter((run) => run.passed).length;
  const short =
    share.runs === 1 ? [] : [`${good} of ${share.runs} runs passed, and ${share.pass} must`];
  const stopped = runs.length < share.runs ? ['stopped before it was run'] : [];
  const failures = passed ? [] : [...short, ...stopped, ...runs.flatMap((run) => run.failures)];
  return { brain: brain.name, index, text, note, passed, ms, failures, runs };
}

const [beginningMax, failureMax, failuresMax] = [60, 400, 6];

/** One line, and below it why a case failed. */
export function linesOf(told: CaseRow, coloured: boolean): string {
  const { brain, text, passed, ms, runs, failures } = told;
  const good = runs.filter((run) => run.passed).length;
  const share = runs.length > 1 ? `, ${good} of ${runs.length} runs` : '';
  const sign = signOf(passed ? 'ok' : 'failed', coloured);
  const asked = `${plainLine(brain)}: ${beginningOf(text, beginningMax)}`;
  const head = `${sign} ${asked} (${ms} ms${share})\n`;
  const left = failures.length - failuresMax;
  const more = left > 0 ? [`and ${left} more; --json tells all`] : [];
  const why = [...failures.slice(0, failuresMax), ...more];
  return head + why.map((one) => `    ${beginningOf(one, failureMax)}\n`).join('');
}

function beginningOf(text: string, most: number): string {
  const line = plainLine(text);
  return line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line;
}
