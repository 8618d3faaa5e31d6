/** Runs the tests with random values (test/support/runs.ts) far more often than usual. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failuresOf } from '../../scripts/test-report.ts';
import { runFiles } from '../../scripts/test-run.ts';
import type { Proof, Proved } from './proof.ts';
import { patienceMs } from '../support/waiting.ts';

const root = join(import.meta.dirname, '..', '..');
/** A file reports only at the end of each of its tests. */
const silenceMsMax = 60 * patienceMs;

export const longTests: Proof = {
  name: 'long-tests',
  title: 'What `npm test` tries with some random values holds with many',
  unit: 'times as many',
  // `npm test` has run each of them once already.
  sizes: { change: 0, nightly: 30 },
  run: (count, seed) => runLong(filesWithRuns(), count, seed),
};

/** @param files absolute paths */
export async function runLong(
  files: readonly string[],
  count: number,
  seed: number,
): Promise<Proved> {
  const env = { SVC_TEST_RUNS_FACTOR: String(count), SEED: String(seed) };
  const outcome = await runFiles({ files, processes: 2, silenceMsMax, env });
  const failures = failuresOf(outcome, root);
  assert.equal(failures, '', failures);
  const tests = outcome.files.flatMap(({ results }) => results).length;
  return { kind: 'proved', figures: { files: outcome.files.length, tests } };
}

export function filesWithRuns(): readonly string[] {
  const all = globSync('{src,test,web}/**/*.test.ts', { cwd: root });
  return all
    .map((file) => join(root, file))
    .filter((file) => /from '[^']*\/runs\.ts'/.test(readFileSync(file, 'utf8')));
}
