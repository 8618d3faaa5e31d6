/** The result of an inspection of a configuration, as text for a person and as an exit code. */
import type { ConfigProblem } from '../../config/problems.ts';
import type { Inspection } from '../../config/inspect.ts';
import { plural } from '../../domain/plural.ts';
import { exitCode, type Io } from '../cli.ts';
import type { PreflightLine } from '../../app/preflight/lines.ts';

/** @returns 78 for the file or a missing secret, 1 for another failed check; warnings are fine */
export function codeOf({ validation }: Inspection, lines: readonly PreflightLine[]): number {
  if (validation.kind === 'invalid') return exitCode.config;
  const failed = failuresOf(lines);
  if (failed.some(({ secret }) => secret)) return exitCode.config;
  return failed.length > 0 ? exitCode.failed : exitCode.fine;
}

function failuresOf(lines: readonly PreflightLine[]): readonly PreflightLine[] {
  return lines.filter(({ mark }) => mark === 'failed');
}

/** Colour is for a terminal, unless the person refused it (https://no-color.org). */
export function isColoured(stream: Io['stdout'], env: Io['env']): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

export type Mark = keyof typeof marks;

const marks = {
  ok: { sign: '✓', colour: 32 },
  warning: { sign: '!', colour: 33 },
  failed: { sign: '✗', colour: 31 },
} as const;

/** The sign at the beginning of a line: fine, a warning, or a failure. */
export function signOf(mark: Mark, coloured: boolean): string {
  const { sign, colour } = marks[mark];
  return coloured ? `\u001B[${colour}m${sign}\u001B[0m` : sign;
}

/**
 * The result for a person: each problem with its place and remedy, then the verdict.
 * @param checkName the noun for one of the lines
 */
export function report(
  file: string,
  { validation }: Inspection,
  lines: readonly PreflightLine[],
  coloured: boolean,
  checkName = 'preflight check',
): string {
  const sign = (mark: Mark): string => signOf(mark, coloured);
  const blocks = validation.problems.map((problem) => {
    const mark = sign(problem.severity === 'error' ? 'failed' : 'warning');
    const where = `${placeOf(file, problem)} ${problem.path}`.trimEnd();
    return `${mark} ${where}\n  ${problem.message}\n  ${problem.remedy}\n`;
  });
  for (const { mark, subject, message, remedy } of lines) {
    const more = remedy === null ? '' : `\n  ${remedy}`;
    blocks.push(`${sign(mark)} ${subject}: ${message}${more}\n`);
  }
  const warnings = count(validation.problems, 'warning');
  const tail = warnings === 0 ? '' : `, ${plural(warnings, 'warning')}`;
  const failed = failuresOf(lines).length;
  if (validation.kind === 'invalid' && validation.problems.some(isUnread)) {
    blocks.push(`${sign('failed')} ${file} was not checked\n`);
  } else if (validation.kind === 'invalid') {
    const errors = plural(count(validation.problems, 'error'), 'problem');
    blocks.push(`${sign('failed')} ${file} is not valid: ${errors}${tail}\n`);
  } else if (failed > 0) {
    const what = plural(failed, checkName);
    blocks.push(`${sign('failed')} ${file} is valid${tail}, but ${what} failed\n`);
  } else {
    blocks.push(`${sign('ok')} ${file} is valid${tail}\n`);
  }
  return blocks.join('');
}

function isUnread({ code }: ConfigProblem): boolean {
  return code === 'file_missing' || code === 'file_unreadable';
}

function placeOf(file: string, { line, column }: ConfigProblem): string {
  return line === 0 ? file : `${file}:${line}:${column}`;
}

function count(problems: readonly ConfigProblem[], severity: 'error' | 'warning'): number {
  return problems.filter((problem) => problem.severity === severity).length;
}
