/** The end of this process while something is still open. */
import type { Worker } from 'node:worker_threads';
import { endsWithin } from '../../lib/lifetime.ts';

const threads = new Set<Worker>();

/** Is called before the first thread is started. */
export function watchThreads(): void {
  process.on('worker', (thread) => {
    threads.add(thread);
    thread.once('exit', () => threads.delete(thread));
  });
}

/** A thread that runs, or waits for something to do, answers within milliseconds. */
const answerMs = 500;

/**
 * Ends the process with the code; left out: with `process.exitCode`. `process.exit` waits for every
 * thread, and one that hangs in a call of the system, as on a disk that does not answer, never
 * ends: a process with one of those kills itself.
 */
export async function endProcess(code?: number): Promise<void> {
  const answers = [...threads].map((thread) => thread.getHeapStatistics().catch(() => null));
  if (!(await endsWithin(Promise.all(answers), answerMs))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
