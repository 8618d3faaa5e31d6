/**
 * `npm run tests`: all test files, or those that are named after `--`: by their path, by a part of
 * it, or by a pattern. Ends with 1 when a test failed, or when not all were there.
 */
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { absences, testsMin } from './attendance.ts';
import { runFiles, type FileOutcome } from './test-pool.ts';
import { failuresOf, hasFailed, summaryOf } from './test-report.ts';

const root = join(import.meta.dirname, '..');
const times = join(root, 'node_modules', '.cache', 'test-times.json');

/** Why a file needs a process of its own. */
const alone: Readonly<Record<string, string>> = {};

const wanted = process.argv.slice(2);
const all = globSync('{src,test,web}/**/*.test.ts', { cwd: root });
const files = wanted.length === 0 ? all : all.filter((file) => wanted.some(names(file)));
if (files.length === 0) throw new Error(`no test file is called ${wanted.join(' or ')}`);

const startedAt = performance.now();
const outcome = await runFiles(
  {
    files: slowestFirst(files).map((file) => join(root, file)),
    isAlone: (file) => alone[relative(root, file)] !== undefined,
    workers: 4,
    hangMs: 120_000,
  },
  (file) => {
    if (hasFailed(file)) console.log(`✖ ${relative(root, file.file)}`);
  },
);
const absent = absences(
  files.map((file) => join(root, file)),
  outcome.files,
  wanted.length === 0 ? testsMin : 1,
);
const faults = [...outcome.faults, ...absent];
const failures = failuresOf(outcome.files);
if (failures !== '') console.log(`\nfailing:\n${failures}\n`);
for (const fault of faults) console.log(`✖ ${fault.replaceAll(`${root}/`, '')}`);
console.log(summaryOf(outcome, performance.now() - startedAt));
if (wanted.length === 0) remember(outcome.files);
if (failures !== '' || faults.length > 0) process.exitCode = 1;

function names(file: string): (text: string) => boolean {
  return (text) => {
    const path = relative(root, text);
    return file.includes(path) || matchesGlob(file, path);
  };
}

/** As the last whole run found; what is new first, and the whole program before its parts. */
function slowestFirst(found: readonly string[]): readonly string[] {
  const known = existsSync(times)
    ? (JSON.parse(readFileSync(times, 'utf8')) as Record<string, number>)
    : {};
  const guess = (file: string): number =>
    (file.startsWith('test/') ? 10_000 : 0) + statSync(join(root, file)).size / 100;
  const ms = new Map(found.map((file) => [file, known[file] ?? guess(file)]));
  return [...found].sort((one, other) => ms.get(other)! - ms.get(one)!);
}

function remember(outcomes: readonly FileOutcome[]): void {
  const entries = outcomes.map(({ file, ms }) => [relative(root, file), Math.round(ms)] as const);
  mkdirSync(dirname(times), { recursive: true });
  writeFileSync(`${times}.new`, JSON.stringify(Object.fromEntries(entries)));
  renameSync(`${times}.new`, times);
}
