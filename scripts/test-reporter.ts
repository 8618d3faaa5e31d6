/**
 * The reporter of a test worker: passes what node:test tells on to the parent process
 * (test-pool.ts). A result is told when the test ends, and not when all tests before it were
 * reported.
 */
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { changesSinceNoted, cpuMsSinceNoted } from './process-state.ts';

/** How one test or suite came out. */
export type Result = {
  readonly kind: 'test' | 'suite';
  readonly name: string;
  /** 0: the file itself, which is a suite of the worker. */
  readonly nesting: number;
  readonly state: 'passed' | 'failed' | 'cancelled' | 'skipped' | 'todo';
  /** Why it was skipped, where the test says so. */
  readonly why: string | null;
  /** `src/lib/log.test.ts:12`, or nothing where node:test does not know. */
  readonly at: string;
  /** The error with its stack; null where only a test inside of it failed. */
  readonly error: string | null;
};

export type FromWorker =
  | { readonly kind: 'began'; readonly name: string }
  | { readonly kind: 'result'; readonly result: Result }
  /** What a test said (`t.diagnostic`). */
  | { readonly kind: 'said'; readonly text: string }
  /** What failed outside of every test. */
  | { readonly kind: 'stray'; readonly text: string }
  /** The file is over: what it left changed in the process, and its time on the processor. */
  | { readonly kind: 'done'; readonly changed: readonly string[]; readonly cpuMs: number };

export type ToWorker = { readonly kind: 'file'; readonly file: string } | { readonly kind: 'end' };

// node:test takes a reporter only as the default export of its file.
// oxlint-disable-next-line import/no-default-export, eslint/require-yield
export default async function* tellParent(source: AsyncIterable<TestEvent>): AsyncGenerator<never> {
  for await (const event of source) {
    const message = messageOf(event);
    if (message === null) continue;
    tell(message);
    // The suite that stands for the file ends last, after the file's own hooks.
    if (message.kind !== 'result' || message.result.nesting > 0) continue;
    tell({ kind: 'done', changed: changesSinceNoted(), cpuMs: cpuMsSinceNoted() });
  }
}

function tell(message: FromWorker): void {
  process.send?.(message);
}

function messageOf(event: TestEvent): FromWorker | null {
  if (event.type === 'test:dequeue') return { kind: 'began', name: event.data.name };
  if (event.type === 'test:complete') return { kind: 'result', result: resultOf(event.data) };
  if (event.type !== 'test:diagnostic') return null;
  const { nesting, message } = event.data;
  if (nesting > 0) return { kind: 'said', text: message };
  // The totals (`pass 12`) are for the parent to count: a worker may die before it tells them.
  return /^[a-z_]+ [\d.]+$/.test(message) ? null : { kind: 'stray', text: message };
}

type Complete = Extract<TestEvent, { type: 'test:complete' }>['data'];

function resultOf(data: Complete): Result {
  const { name, nesting, file, line, details } = data;
  const kind = details.type === 'suite' ? 'suite' : 'test';
  const at = file === undefined ? '' : `${file}:${line}`;
  const why = typeof data.skip === 'string' ? data.skip : null;
  return { kind, name, nesting, state: stateOf(data), why, at, error: errorOf(details.error) };
}

function stateOf({ skip, todo, details }: Complete): Result['state'] {
  if (skip !== undefined && skip !== false) return 'skipped';
  if (todo !== undefined && todo !== false) return 'todo';
  if (details.passed) return 'passed';
  return cancelled.has(failureType(details.error)) ? 'cancelled' : 'failed';
}

const cancelled = new Set<unknown>(['cancelledByParent', 'testAborted', 'testTimeoutFailure']);

function failureType(error: unknown): unknown {
  return (error as { failureType?: unknown } | undefined)?.failureType;
}

/** node:test wraps what was thrown: its own error says only that a test failed. */
function errorOf(error: Error | undefined): string | null {
  if (error === undefined || failureType(error) === 'subtestsFailed') return null;
  const thrown = error.cause ?? error;
  return typeof thrown === 'string' ? thrown : inspect(thrown, { depth: 8 });
}
