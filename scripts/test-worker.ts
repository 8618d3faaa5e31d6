/**
 * Runs test files in one process, one after the other, as the parent (test-pool.ts) sends them.
 * Each is a suite of its own, so that its hooks end with it.
 */
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { changesBetween, processState } from './process-state.ts';
import type { FromWorker, ToWorker } from './test-reporter.ts';

process.on('message', (message: ToWorker) => {
  if (message.kind === 'file') void runFile(message.file);
  // From now on only what the tests left open holds this process.
  else process.channel?.unref();
});

async function runFile(file: string): Promise<void> {
  let before = processState();
  const spent = process.cpuUsage();
  await suite(file, async () => {
    // By now node:test has its own listeners in place.
    before = processState();
    await import(pathToFileURL(file).href);
  });
  const changed = changesBetween(before, processState());
  const { user, system } = process.cpuUsage(spent);
  const cpuMs = (user + system) / 1_000;
  process.send?.({ kind: 'done', file, changed, cpuMs } satisfies FromWorker);
}
