/**
 * Runs the test files and proofs named by its arguments, one after the other, for
 * scripts/planted.ts. Prints a line of JSON for each sign of life and for each red test.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, resolve } from 'node:path';
import { run } from 'node:test';
import type { Sign } from './planted/tests.ts';

/** The time limit of `npm run tests`. */
const timeout = 120_000;

const tell = (sign: Sign): void => void process.stdout.write(`${JSON.stringify(sign)}\n`);

for (const file of process.argv.slice(2)) {
  tell({ kind: 'alive', file });
  if (/\.test\.tsx?$/.test(file)) await runTests(file);
  else await runProof(file);
}

async function runTests(file: string): Promise<void> {
  for await (const { type, data } of run({ files: [resolve(file)], concurrency: 1, timeout })) {
    if (type === 'test:start' || type === 'test:pass') tell({ kind: 'alive', file });
    if (type !== 'test:fail' || data.todo !== undefined) continue;
    const { failureType } = data.details.error as Error & { failureType?: string };
    if (failureType === 'subtestsFailed') continue;
    tell({ kind: failureType === 'testTimeoutFailure' ? 'hang' : 'red', file, test: data.name });
  }
}

/** Runs a proof at its smallest size. A skipped proof sees nothing. */
async function runProof(file: string): Promise<void> {
  const name = basename(file, '.ts');
  const child = spawn(process.execPath, ['test/chaos/run.ts', '--only', name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.on('data', () => tell({ kind: 'alive', file }));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) tell({ kind: 'red', file, test: `the proof ${name}` });
}
