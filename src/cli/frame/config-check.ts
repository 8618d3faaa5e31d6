/**
 * `svc config check`: checks a configuration file, and with `--preflight` everything that it names.
 */
import type { ConfigProblem } from '../../config/problems.ts';
import type { Inspection } from '../../config/inspect.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { findConfigFile, inspectConfigFile } from './config-file.ts';
import { parseFlags, wrongUsage } from './flags.ts';
import type { PreflightLine } from '../../app/preflight/lines.ts';
import { codeOf, isColoured, report } from './report.ts';

/**
 * Looks up the secrets of a valid configuration and contacts what it names. It sends no content.
 */
export type Preflight = (
  inspection: Inspection,
  io: Pick<Io, 'secrets' | 'stop'>,
) => Promise<readonly PreflightLine[]>;

/**
 * Finds warnings in the skills and the database of a valid configuration. It reads the database
 * even while a service runs on it.
 * @param io null: it must contact nothing, so no server either
 */
export type FindWarnings = (
  inspection: Inspection,
  io: Io | null,
) => Promise<readonly ConfigProblem[]>;

const usage = `Usage: svc config check [file] [--preflight] [--json]

Checks a configuration file (default: svc.json) and reports all problems at once.
It starts nothing, and without --preflight it contacts nothing.

  --preflight  also look up every secret and reach every provider, and the database server
  --json       print {"valid", "problems"} to standard output

Exit codes: 0 fine (warnings too), 1 a preflight check failed, 2 wrong usage,
78 the file has a problem or a secret is missing.`;

const table = { preflight: { type: 'boolean' }, json: { type: 'boolean' } } as const;

export function createConfigCheck(preflight: Preflight, findWarnings: FindWarnings): Command {
  return {
    name: 'config check',
    summary: 'Check a configuration file',
    usage,
    flags: table,
    takes: 'file',
    run: (args, io) => run(args, io, preflight, findWarnings),
  };
}

async function run(
  args: readonly string[],
  io: Io,
  preflight: Preflight,
  findWarnings: FindWarnings,
): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'config check', parsed.message);
  const { flags, positionals } = parsed;
  const file = findConfigFile(positionals[0] ?? null, io);
  const inspected = await inspectConfigFile(file, io);
  const inspection = withWarnings(
    inspected,
    await findWarnings(inspected, flags.preflight ? io : null),
  );
  const { validation } = inspection;
  const valid = validation.kind === 'valid';
  const lines = flags.preflight && valid ? await preflight(inspection, io) : [];
  if (flags.json) {
    const result = { valid, problems: validation.problems };
    const whole = flags.preflight ? { ...result, preflight: lines } : result;
    io.stdout.write(`${JSON.stringify(whole, null, 2)}\n`);
  } else {
    io.stdout.write(report(file.name, inspection, lines, isColoured(io.stdout, io.env)));
  }
  return io.stop.aborted ? exitCode.failed : codeOf(inspection, lines);
}

export function withWarnings(inspection: Inspection, more: readonly ConfigProblem[]): Inspection {
  const { validation } = inspection;
  const problems = [...validation.problems, ...more];
  return { ...inspection, validation: { ...validation, problems } };
}
