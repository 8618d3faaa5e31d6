/**
 * `svc try`: runs the test cases of a configuration, and reports them as text, JSON or JUnit XML.
 */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { channelOfBrain, type Config, type Secrets } from '../../config/config.ts';
import type { ConfigProblem } from '../../config/problems.ts';
import { plural } from '../../domain/plural.ts';
import { systemClock } from '../../lib/clock.ts';
import { Mask } from '../../lib/mask.ts';
import { plainJson, plainLine, plainText } from '../../lib/plain-text.ts';
import { programVersion } from '../../lib/program.ts';
import { createEvents } from '../../telemetry/events.ts';
import { createServiceDeps, readSkills } from '../../app/service.ts';
import { createOwnSpend } from '../../app/dry-run.ts';
import {
  planCases,
  startCases,
  type PlannedCase,
  type CaseResult,
} from '../../app/test-cases/run-cases.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { isOfMcpServer } from '../../config/secrets.ts';
import { createCommandLog, readConfig, readSecrets } from '../frame/boot.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { parseFlags, wholeNumber, wrongUsage, type Flags } from '../frame/flags.ts';
import { isColoured, signOf } from '../frame/report.ts';

const table = {
  brain: { type: 'strings' },
  only: { type: 'string' },
  jobs: { type: 'string' },
  json: { type: 'boolean' },
  junit: { type: 'string', values: 'file' },
} as const;

const jobsUsual = 8;
const jobsMost = 64;

export const tryCases: Command = {
  name: 'try',
  summary: 'Run the test cases that a configuration keeps',
  usage: `Usage: svc try [file] [--brain <name>]… [--only <text>] [--jobs <number>]
               [--json] [--junit <path>]

Runs the test cases in the "_try" of each brain of a configuration (default: svc.json), and compares
each reply with the expectation of its case. It really asks the models. It delivers and keeps
nothing. Tools that reach out do not run, and tools of MCP servers are not there. It makes no
difference whether svc runs.

  --brain <name>   cases of this brain alone; may be given several times
  --only <text>    cases whose text or note contains this
  --jobs <number>  at most so many cases at once, within the models' bounds (default: ${jobsUsual})
  --json           print {"file", "passed", "failed", "cases"} to standard output
  --junit <path>   also write the results as JUnit XML, for a CI system

Exit codes: 0 all cases passed, or there is none; 1 a case failed; 2 wrong usage, also when no case
was chosen; 78 the configuration has a problem, a secret is missing, or a case cannot be read.
`,
  flags: table,
  takes: 'file',
  run: runTry,
};

async function runTry(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'try', parsed.message);
  const { flags, positionals } = parsed;
  const jobs = flags.jobs === null ? jobsUsual : wholeNumber(flags.jobs, 1, jobsMost);
  if (jobs === null) {
    return wrongUsage(io, 'try', `--jobs is a whole number from 1 to ${jobsMost}.`);
  }
  const file = useConfigFile(positionals[0] ?? null, io);
  const read = await readConfig(file, io);
  if (read.kind === 'refused') {
    io.stderr.write(read.report);
    return exitCode.config;
  }
  const { config, inspection } = read;
  const { cases, problems } = planCases(config, inspection.text);
  if (problems.length > 0) return reportUnreadable(file.name, problems, io);
  const unknown = flags.brain.find((name) => !config.brains.some((one) => one.name === name));
  if (unknown !== undefined) {
    const names = config.brains.map(({ name }) => `"${name}"`).join(', ');
    return wrongUsage(io, 'try', `${file.name} has no brain "${unknown}"; it has ${names}.`);
  }
  const chosen = cases.filter((one) => isChosen(one, flags));
  if (chosen.length === 0 && cases.length > 0) {
    return wrongUsage(io, 'try', `none of the ${plural(cases.length, 'case')} was chosen.`);
  }
  const resolved = await readSecrets(config, io, { concerns: concernsOf(chosen) });
  if (resolved.kind === 'refused') {
    io.stderr.write(resolved.report);
    return exitCode.config;
  }
  const skills = await readSkills([...new Set(chosen.map(({ brain }) => brain))]);
  if (skills.kind === 'problem') {
    io.stderr.write(`✗ ${skills.message}.\n`);
    return exitCode.config;
  }
  for (const { message } of skills.warnings) io.stderr.write(`! ${plainText(message)}\n`);
  const rows = await runAll(chosen, { config, secrets: resolved.secrets, skills, jobs, flags, io });
  return reportAll(file.name, rows, flags, io);
}

function isChosen({ brain, text, note }: PlannedCase, flags: Flags<typeof table>): boolean {
  const { brain: brains, only } = flags;
  if (brains.length > 0 && !brains.includes(brain.name)) return false;
  return only === null || text.includes(only) || note.includes(only);
}

/** Chooses the secrets of the brains that are asked, and of the judges. */
function concernsOf(cases: readonly PlannedCase[]): (path: string) => boolean {
  const places = new Set(
    cases.flatMap(({ at, judge }) => [
      `brains[${at}].`,
      ...(judge === null ? [] : [`${judge.path}.`]),
    ]),
  );
  return (path) => !isOfMcpServer(path) && [...places].some((place) => path.startsWith(place));
}

type RunOptions = {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly skills: { readonly texts: ReadonlyMap<string, string> };
  readonly jobs: number;
  readonly flags: Flags<typeof table>;
  readonly io: Io;
};

/** Prints each case as soon as it and all earlier cases are over. */
async function runAll(
  cases: readonly PlannedCase[],
  options: RunOptions,
): Promise<readonly CaseRow[]> {
  const { config, secrets, skills, jobs, flags, io } = options;
  const log = createCommandLog(io, 'error');
  log.scrub(secrets.values());
  const mask = new Mask();
  mask.add(secrets.values());
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), programVersion());
  const results = startCases(cases, {
    secrets,
    deps,
    skills: skills.texts,
    spend: createOwnSpend(),
    channelOf: (brain) => channelOfBrain(brain, config),
    jobsMax: jobs,
    stop: io.stop,
  });
  const allSettled = Promise.allSettled(results);
  try {
    const rows: CaseRow[] = [];
    for (const result of results) {
      const row = rowOf(await result, mask);
      rows.push(row);
      if (!flags.json) io.stdout.write(linesOf(row, isColoured(io.stdout, io.env)));
    }
    return rows;
  } finally {
    await allSettled;
    await deps.http.close();
  }
}

async function reportAll(
  file: string,
  cases: readonly CaseRow[],
  flags: Flags<typeof table>,
  io: Io,
): Promise<number> {
  const failed = cases.filter(({ passed }) => !passed).length;
  const passed = cases.length - failed;
  if (flags.json) {
    io.stdout.write(`${plainJson({ file, passed, failed, cases }, 2)}\n`);
  } else if (cases.length === 0) {
    io.stdout.write(
      `${plainLine(file)} keeps no test case. A brain has its cases in "_try": ` +
        '[{"text": "…", "expect": {"contains": "…"}}]; the builder\'s Try keeps them, too.\n',
    );
  } else {
    const sign = signOf(failed === 0 ? 'ok' : 'failed', isColoured(io.stdout, io.env));
    const verdict = failed === 0 ? 'passed' : `passed, ${failed} failed`;
    io.stdout.write(`${sign} ${passed} of ${plural(cases.length, 'case')} ${verdict}\n`);
  }
  if (flags.junit !== null && !(await writeJunit(flags.junit, junitOf(file, cases), io))) {
    return exitCode.failed;
  }
  return failed === 0 ? exitCode.fine : exitCode.failed;
}

async function writeJunit(path: string, text: string, { cwd, stderr }: Io): Promise<boolean> {
  try {
    await writeFile(resolve(cwd, path), text);
    return true;
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    stderr.write(`✗ ${plainLine(path)} cannot be written (${code}).\n`);
    return false;
  }
}

function reportUnreadable(file: string, problems: readonly ConfigProblem[], io: Io): number {
  const sign = signOf('failed', isColoured(io.stderr, io.env));
  const blocks = problems.map(({ line, column, path, message, remedy }) => {
    const where = plainLine(`${file}:${line}:${column} ${path}`);
    return `${sign} ${where}\n  ${message}\n  ${remedy}\n`;
  });
  const count = plural(problems.length, 'problem');
  const verdict = `${sign} the test cases of ${file} cannot be read: ${count}; nothing was run\n`;
  io.stderr.write(blocks.join('') + verdict);
  return exitCode.config;
}

const nameCharactersMax = 200;

/**
 * The results as JUnit XML, as CI systems read it: a suite for each brain, a case for each test
 * case, and a failure inside it.
 *
 * Format: https://github.com/testmoapp/junitxml and
 * https://docs.gitlab.com/ci/testing/unit_test_reports/
 */
function junitOf(file: string, cases: readonly CaseRow[]): string {
  const suites = [...Map.groupBy(cases, ({ brain }) => brain)];
  const lines = suites.map(([brain, own]) => suiteOf(brain, own));
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n';
  const attributes = attributesOf(`svc try ${file}`, cases);
  return `${head}<testsuites ${attributes}>\n${lines.join('')}</testsuites>\n`;
}

function suiteOf(brain: string, cases: readonly CaseRow[]): string {
  const seen = new Map<string, number>();
  const lines = cases.map((row) => {
    const name = plainLine(row.text).slice(0, nameCharactersMax);
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return caseOf(before === 0 ? name : `${name} (${before + 1})`, row);
  });
  return `  <testsuite ${attributesOf(brain, cases)}>\n${lines.join('')}  </testsuite>\n`;
}

function attributesOf(name: string, cases: readonly CaseRow[]): string {
  const failures = cases.filter(({ passed }) => !passed).length;
  const ms = cases.reduce((sum, one) => sum + one.ms, 0);
  return (
    `name="${escapeXml(name)}" tests="${cases.length}" failures="${failures}" errors="0" ` +
    `skipped="0" time="${secondsOf(ms)}"`
  );
}

/** @param name identifies the case for a CI system, wherever the case stands in the list */
function caseOf(name: string, { brain, passed, ms, failures }: CaseRow): string {
  const who = `name="${escapeXml(name)}" classname="${escapeXml(brain)}"`;
  const head = `    <testcase ${who} time="${secondsOf(ms)}"`;
  if (passed) return `${head}/>\n`;
  const message = escapeXml(failures[0] ?? '');
  const whole = escapeXml(failures.join('\n'));
  const failure = `      <failure message="${message}" type="expectation">${whole}</failure>\n`;
  return `${head}>\n${failure}    </testcase>\n`;
}

const secondsOf = (ms: number): string => (ms / 1_000).toFixed(3);

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\n': '&#10;',
  '\t': '&#9;',
};

/** Drops characters that XML 1.0 cannot express: https://www.w3.org/TR/xml/#charsets */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Bidi_Control}\uFFFE\uFFFF]/gu, (one) => (/[\n\t]/.test(one) ? one : ''))
    .replace(/[&<>"'\n\t]/g, (one) => entities[one]!);
}

/**
 * The result of a case for output, with secrets masked. `index` is its place in the list of the
 * brain, from 0.
 */
type CaseRow = {
  readonly brain: string;
  readonly index: number;
  readonly text: string;
  readonly note: string;
  readonly passed: boolean;
  readonly ms: number;
  /** Sentences from all runs that failed. */
  readonly failures: readonly string[];
  readonly runs: readonly RunResult[];
};

type RunResult = {
  readonly passed: boolean;
  readonly ms: number;
  readonly reply: string | null;
  readonly failures: readonly string[];
};

function rowOf(result: CaseResult, mask: Mask): CaseRow {
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

const beginningMax = 60;
const failureMax = 400;
const failuresMax = 6;

/** One line per case, and below it why the case failed. */
function linesOf(row: CaseRow, coloured: boolean): string {
  const { brain, text, passed, ms, runs, failures } = row;
  const good = runs.filter((run) => run.passed).length;
  const share = runs.length > 1 ? `, ${good} of ${runs.length} runs` : '';
  const sign = signOf(passed ? 'ok' : 'failed', coloured);
  const question = `${plainLine(brain)}: ${beginningOf(text, beginningMax)}`;
  const head = `${sign} ${question} (${ms} ms${share})\n`;
  const leftOut = failures.length - failuresMax;
  const more = leftOut > 0 ? [`and ${leftOut} more; --json tells all`] : [];
  const why = [...failures.slice(0, failuresMax), ...more];
  return head + why.map((one) => `    ${beginningOf(one, failureMax)}\n`).join('');
}

function beginningOf(text: string, most: number): string {
  const line = plainLine(text);
  return line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line;
}
