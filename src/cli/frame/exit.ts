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

/** A thread that runs, or waits for something to do, ends within milliseconds. */
const threadEndsMs = 500;

/**
 * Ends the process with the code. `process.exit` waits for every thread, and one that hangs in a
 * call of the system, as on a disk that does not answer, never ends: so all of them are ended
 * first, and a process with one that stays kills itself. That a thread still answers would say
 * nothing: it may begin to hang just then.
 */
export async function endProcess(code: number): Promise<void> {
  const ended = [...threads].map((thread) => {
    // Whoever needs the thread need not hear of its end: it is the end of all.
    thread.removeAllListeners('exit');
    return thread.terminate();
  });
  if (!(await endsWithin(Promise.all(ended), threadEndsMs))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
