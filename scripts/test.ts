/**
 * `npm run tests`: all test files, or those that are named after `--`: by a path, a part of one, or
 * a pattern. Ends with 1 when a test failed, or when not all tests ran.
 */
import { globSync } from 'node:fs';
import { join, matchesGlob, relative } from 'node:path';
import { absences, testsMin } from './attendance.ts';
import type { FileOutcome } from './file-run.ts';
import { runFiles } from './test-pool.ts';
import { failuresOf, hasFailed, skippedOf, summaryOf } from './test-report.ts';
import { rememberTimes, slowestFirst } from './test-times.ts';

/** Why a file needs a process of its own. A test that can be mended is not listed. */
const alone: Readonly<Record<string, string>> = {};

const root = join(import.meta.dirname, '..');
process.chdir(root);
// The processes share much code, so they find it compiled.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules', '.cache', 'compiled');
// By it the processes find what they share; it ends when this process has ended.
process.env['SVC_TEST_RUN'] ??= `${process.pid}-${Date.now()}`;

const named = process.argv.slice(2);
const all = globSync('{src,test,web}/**/*.test.ts');
const tests = named.length === 0 ? all : all.filter((test) => named.some((one) => is(one, test)));
if (tests.length === 0) throw new Error(`no test file is called ${named.join(' or ')}`);

const startedAt = performance.now();
const files = slowestFirst(tests).map((test) => join(root, test));
const isAlone = (file: string): boolean => alone[relative(root, file)] !== undefined;
/** Bounds for what hangs, on a machine as busy as it may be. */
const bounds = { hangMs: 300_000, endMs: 120_000 };
const outcome = await runFiles({ ...bounds, files, isAlone, processes: 4 }, tellFailed);
rememberTimes(Object.fromEntries(outcome.files.map((one) => [relative(root, one.file), one])));

const absent = absences(files, outcome.files, named.length === 0 ? testsMin : 1);
const failures = failuresOf(outcome.files, root);
const faults = [...outcome.faults, ...absent].map((fault) => fault.replaceAll(`${root}/`, ''));
if (failures !== '') console.log(`\n${failures}`);
for (const fault of faults) console.log(`✖ ${fault}`);
const skipped = skippedOf(outcome.files);
if (skipped !== '') console.log(skipped);
console.log(summaryOf(outcome, performance.now() - startedAt));
if (failures !== '' || faults.length > 0) process.exitCode = 1;

function is(name: string, test: string): boolean {
  const path = relative(root, name);
  return test.includes(path) || matchesGlob(test, path);
}

/** Tells of a failed file while the others still run; the details come at the end. */
function tellFailed(one: FileOutcome): void {
  if (hasFailed(one)) console.log(`✖ ${relative(root, one.file)}`);
}
