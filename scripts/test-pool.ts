/**
 * Shares test files among some processes (test-process.ts), each of which runs many, one after the
 * other. When a process dies or hangs, its current file is lost; another process goes on with the
 * rest.
 */
import type { FileOutcome } from './file-run.ts';
import { TestProcess, type ProcessOptions } from './test-process.ts';

export type Orders = ProcessOptions & {
  /** Absolute paths, in the order in which they are begun. */
  readonly files: readonly string[];
  readonly processes: number;
};

export type Outcome = {
  readonly files: readonly FileOutcome[];
  /** Faults that belong to no file. */
  readonly faults: readonly string[];
};

/** @param tell is told of each file as soon as it is over */
export async function runFiles(
  orders: Orders,
  tell: (outcome: FileOutcome) => void = () => {},
): Promise<Outcome> {
  const queue = [...orders.files];
  const files: FileOutcome[] = [];
  const faults: string[] = [];
  const run = async (file: string, by: TestProcess): Promise<FileOutcome> => {
    const outcome = await by.run(file);
    files.push(outcome);
    tell(outcome);
    return outcome;
  };
  const lane = async (): Promise<void> => {
    let shared: TestProcess | null = null;
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      shared ??= new TestProcess(orders);
      if (!(await run(file, shared)).isOver) shared = null;
    }
    if (shared !== null) faults.push(...(await shared.end()));
  };
  await Promise.all(Array.from({ length: orders.processes }, lane));
  return { files, faults };
}
