/**
 * Runs the test files that are named as arguments, one after the other, for scripts/planted.ts:
 * a line of JSON tells of each sign of life and of each test that turns red.
 */
import { run } from 'node:test';
import { relative, resolve } from 'node:path';
import type { Sign } from './planted/tests.ts';

/** As `npm run tests` has it. */
const timeout = 120_000;

const files = process.argv.slice(2).map((file) => resolve(file));
const stream = run({ files, concurrency: 1, timeout });
const nameOf = (file: string | undefined): string => relative(process.cwd(), file ?? '');
const tell = (sign: Sign): void => void process.stdout.write(`${JSON.stringify(sign)}\n`);

stream.on('test:start', ({ file }) => tell({ kind: 'alive', file: nameOf(file) }));
stream.on('test:pass', ({ file }) => tell({ kind: 'alive', file: nameOf(file) }));
stream.on('test:fail', ({ name, file, details, todo }) => {
  const { failureType } = details.error as Error & { failureType?: string };
  if (failureType === 'subtestsFailed' || todo !== undefined) return;
  const kind = failureType === 'testTimeoutFailure' ? 'hang' : 'red';
  tell({ kind, file: nameOf(file), test: name });
});
// Nobody reads the report itself, and a stream that is not read ends nothing.
stream.resume();
