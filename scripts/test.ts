/**
 * `npm test`: runs the tests that need only `npm ci`. `-- --rest` runs all others. `-- NAME …` runs
 * the files whose path contains NAME or matches it as a pattern. Ends with 1 when a test failed, or
 * when too few ran.
 */
import { spawnSync } from 'node:child_process';
import { globSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob, relative } from 'node:path';
import { arePagesFresh } from './pages-stamp.ts';
import { failuresOf, hasFailed, skippedOf, summaryOf } from './test-report.ts';
import { runFiles, type FileOutcome, type Outcome } from './test-run.ts';

/** A test whose path matches one of these takes long or needs more than `npm ci` installs. */
const rest = ['**/*.slow.test.ts', '**/*postgres*/**', '**/*postgres*'];
/** A run with fewer tests than this is incomplete. */
const testsMin = { first: 2_500, rest: 1_000 };
/** The rest waits more for other programs. */
const processes = { first: 4, rest: 6 };
/** The longest silence while tests run. */
const progressMs = 8_000;
/** A process silent for this long hangs, even on a busy machine. */
const silenceMsMax = 300_000;
const temporaryMiBMin = 300;

const root = join(import.meta.dirname, '..');
process.chdir(root);
// The processes share much code; the cache gives them compiled code.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules', '.cache', 'compiled');
// Names the run, so that processes find what they share; it ends with this process.
process.env['SVC_TEST_RUN'] ??= `${process.pid}-${Date.now()}`;

const asked = process.argv.slice(2);
const named = asked.filter((one) => one !== '--rest');
const isRest = asked.includes('--rest');
const all = globSync('{src,apps,test,web}/**/*.test.ts');
const tests = all.filter((test) => isAsked(test));
if (tests.length === 0) throw new Error(`no test file is called ${named.join(' or ')}`);

const room = roomFault();
if (room === null) {
  if (!arePagesFresh()) prepare('pages');
  prepare('build');
  await runTests();
} else {
  console.error(room);
  process.exitCode = 1;
}

async function runTests(): Promise<void> {
  const startedAt = performance.now();
  const files = tests.sort((one, other) => size(other) - size(one)).map((test) => join(root, test));
  const over: FileOutcome[] = [];
  const print = (): void => console.log(progressOf(over, files.length, startedAt));
  const progress = setInterval(print, progressMs);
  const options = { files, processes: processes[isRest ? 'rest' : 'first'], silenceMsMax };
  const outcome = await runFiles(options, (one) => {
    over.push(one);
    // Details follow at the end.
    if (hasFailed(one)) console.log(`✖ ${relative(root, one.file)}`);
  });
  clearInterval(progress);
  const failures = failuresOf(outcome, root);
  const full = failures.includes('ENOSPC') ? roomSentence() : '';
  const end = [reportsOf(outcome), failures, missingOf(outcome), skippedOf(outcome), full];
  const summary = summaryOf(outcome, performance.now() - startedAt);
  console.log([...end, summary].filter((text) => text !== '').join('\n'));
  if (failures !== '' || missingOf(outcome) !== '') process.exitCode = 1;
}

/** Formats the reports of tests that a person named. A whole run reports only failures. */
function reportsOf({ files }: Outcome): string {
  const passed = named.length === 0 ? [] : files.filter((one) => !hasFailed(one));
  return passed.flatMap(({ said }) => said.map((text) => `ℹ ${text}`)).join('\n');
}

/** Sorts long tests first: the whole program, then its parts, longest text first. */
function size(test: string): number {
  return statSync(test).size + (test.startsWith('test') ? 1_000_000 : 0);
}

/** @returns a sentence when too few tests ran; otherwise empty */
function missingOf({ files }: Outcome): string {
  const results = files.flatMap((one) => one.results);
  const { length } = results.filter(({ kind }) => kind === 'test');
  const min = named.length > 0 ? 0 : testsMin[isRest ? 'rest' : 'first'];
  return length < min ? `✖ ${length} tests have run, and there are at least ${min}` : '';
}

function isAsked(test: string): boolean {
  if (named.length === 0) return rest.some((pattern) => matchesGlob(test, pattern)) === isRest;
  return named.some((name) => {
    const path = relative(root, name);
    return test.includes(path) || matchesGlob(test, path);
  });
}

/** Builds the program or the pages, whichever the tests run. */
function prepare(name: 'build' | 'pages'): void {
  const script = join(root, 'scripts', `${name}.ts`);
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm run ${name} has failed`);
}

function progressOf(over: readonly FileOutcome[], files: number, startedAt: number): string {
  const results = over.flatMap((one) => one.results.filter(({ kind }) => kind === 'test'));
  const failed = results.filter(({ state }) => state === 'failed' || state === 'cancelled').length;
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const counts = `${results.length - failed} tests passed, ${failed} failed`;
  return `${String(seconds).padStart(4)} s: ${over.length} of ${files} files, ${counts}`;
}

/** @returns why the tests would fail before they begin, or null */
function roomFault(): string | null {
  try {
    const { bavail, bsize } = statfsSync(tmpdir());
    const free = (bavail * bsize) / 2 ** 20;
    return free < temporaryMiBMin ? `${roomSentence()} It has ${Math.floor(free)} MiB.` : null;
  } catch (error) {
    return `${roomSentence()} It cannot be read: ${String(error)}`;
  }
}

function roomSentence(): string {
  return (
    `The tests need ${temporaryMiBMin} MiB in ${tmpdir()}, the folder for temporary files. ` +
    'Make room there, or name another folder in TMPDIR.'
  );
}
