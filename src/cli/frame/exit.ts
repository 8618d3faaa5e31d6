/** Ends this process while threads may still run or hang. */
import type { Worker } from 'node:worker_threads';
import { endsWithin } from '../../lib/lifetime.ts';

const threads = new Set<Worker>();

/** Must be called before the first thread starts. */
export function watchThreads(): void {
  process.on('worker', (thread) => {
    threads.add(thread);
    thread.once('exit', () => threads.delete(thread));
  });
}

/** A thread that runs, or waits for work, ends within milliseconds. */
const threadEndsMs = 500;

/**
 * Ends the process with the code. `process.exit` waits for every thread. A thread that hangs in a
 * system call, as on a disk that does not answer, never ends. So this first terminates all threads;
 * if one remains, the process kills itself. It is no use to ask whether a thread answers: the
 * thread may hang right afterwards.
 */
export async function endProcess(code: number): Promise<void> {
  const ended = [...threads].map((thread) => {
    // The owner of the thread must not react to its end, since the whole process ends.
    thread.removeAllListeners('exit');
    return thread.terminate();
  });
  if (!(await endsWithin(Promise.all(ended), threadEndsMs))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
