/**
 * Runs test files in one process, one after the other, as the parent (test-pool.ts) sends them.
 * Each file is a suite of its own, so that its hooks end with the file.
 */
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { noteState } from './process-state.ts';
import type { ToWorker } from './test-reporter.ts';

process.on('message', (message: ToWorker) => {
  if (message.kind === 'file') begin(message.file);
  // From now on only what the tests left open holds this process.
  else process.channel?.unref();
});

/** The reporter tells when the file is over. */
function begin(file: string): void {
  void suite(file, async () => {
    // By now node:test has its own listeners in place.
    noteState();
    await import(pathToFileURL(file).href);
  });
}
