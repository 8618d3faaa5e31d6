import { resolve } from 'node:path';
import type { ConfigProblem } from '../config/config.ts';
import { inspectConfig } from '../config/inspect.ts';
import type { Inspection } from '../config/inspect.ts';
import { exitCode } from './cli.ts';
import type { Command, Io } from './cli.ts';
import { parseFlags, wrongUsage } from './flags.ts';

/** One thing that a preflight looked at. `secret`: it failed because a secret is missing. */
export type PreflightLine = {
  readonly mark: 'ok' | 'warning' | 'failed';
  readonly subject: string;
  readonly message: string;
  readonly remedy: string | null;
  readonly secret: boolean;
};

/** Resolves the secrets of a valid config and reaches what it names; sends no content. */
export type Preflight = (
  inspection: Inspection,
  env: Io['env'],
) => Promise<readonly PreflightLine[]>;

const usage = `Usage: svc config check [file] [--preflight] [--json]

Checks a configuration file (default: svc.json) and reports everything that is wrong at once.
Nothing is started, and without --preflight nothing is reached.

  --preflight  also look up every secret and reach every provider
  --json       print {"valid", "problems"} to standard output

Exit codes: 0 fine (warnings too), 1 a preflight check failed, 2 wrong usage,
78 the file has a problem or a secret is missing.`;

export function createConfigCheck(preflight: Preflight): Command {
  return {
    name: 'config check',
    summary: 'Check a configuration file',
    usage,
    run: (args, io) => run(args, io, preflight),
  };
}

const table = { preflight: { type: 'boolean' }, json: { type: 'boolean' } } as const;

async function run(args: readonly string[], io: Io, preflight: Preflight): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'config check', parsed.message);
  const { flags, positionals } = parsed;
  const file = positionals[0] ?? 'svc.json';
  const inspection = await inspectConfig(resolve(io.cwd, file), io.env);
  const { validation } = inspection;
  const valid = validation.kind === 'valid';
  const lines = flags.preflight && valid ? await preflight(inspection, io.env) : [];
  if (flags.json) {
    const result = { valid, problems: validation.problems };
    const whole = flags.preflight ? { ...result, preflight: lines } : result;
    io.stdout.write(`${JSON.stringify(whole, null, 2)}\n`);
  } else {
    io.stdout.write(report(file, inspection, lines, isColoured(io.stdout, io.env)));
  }
  return codeOf(inspection, lines);
}

/** 78 for the file or a missing secret, 1 for another check that failed; warnings are fine. */
export function codeOf({ validation }: Inspection, lines: readonly PreflightLine[]): number {
  if (validation.kind === 'invalid') return exitCode.config;
  const failed = failuresOf(lines);
  if (failed.some(({ secret }) => secret)) return exitCode.config;
  return failed.length > 0 ? exitCode.failed : exitCode.fine;
}

function failuresOf(lines: readonly PreflightLine[]): readonly PreflightLine[] {
  return lines.filter(({ mark }) => mark === 'failed');
}

/** Colour is for people at a terminal who did not say no (https://no-color.org). */
export function isColoured(stream: Io['stdout'], env: Io['env']): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

const marks = {
  ok: { sign: '✓', colour: 32 },
  warning: { sign: '!', colour: 33 },
  failed: { sign: '✗', colour: 31 },
} as const;

/**
 * The check as a person reads it: each problem with its place and remedy, then the verdict.
 * @param checkName what one of the lines is called
 */
export function report(
  file: string,
  { validation }: Inspection,
  lines: readonly PreflightLine[],
  coloured: boolean,
  checkName = 'preflight check',
): string {
  const sign = (mark: keyof typeof marks): string => {
    const { sign: text, colour } = marks[mark];
    return coloured ? `\u001B[${colour}m${text}\u001B[0m` : text;
  };
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
  if (validation.kind === 'invalid') {
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

function placeOf(file: string, { line, column }: ConfigProblem): string {
  return line === 0 ? file : `${file}:${line}:${column}`;
}

function count(problems: readonly ConfigProblem[], severity: 'error' | 'warning'): number {
  return problems.filter((problem) => problem.severity === severity).length;
}

function plural(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
