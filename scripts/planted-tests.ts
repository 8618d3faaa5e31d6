/**
 * Runs the test files that are named as arguments, one after the other, for scripts/planted.ts:
 * a line of JSON tells of each sign of life and of each test that turns red.
 */
import { run } from 'node:test';
import { resolve } from 'node:path';
import type { Sign } from './planted/tests.ts';

/** As `npm run tests` has it. */
const timeout = 120_000;

const tell = (sign: Sign): void => void process.stdout.write(`${JSON.stringify(sign)}\n`);

for (const file of process.argv.slice(2)) {
  tell({ kind: 'alive', file });
  for await (const { type, data } of run({ files: [resolve(file)], concurrency: 1, timeout })) {
    if (type === 'test:start' || type === 'test:pass') tell({ kind: 'alive', file });
    if (type !== 'test:fail' || data.todo !== undefined) continue;
    const { failureType } = data.details.error as Error & { failureType?: string };
    if (failureType === 'subtestsFailed') continue;
    tell({ kind: failureType === 'testTimeoutFailure' ? 'hang' : 'red', file, test: data.name });
  }
}
