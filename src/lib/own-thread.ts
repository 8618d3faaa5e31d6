/** How this program starts a thread of its own. */
import { readFileSync } from 'node:fs';
import { isSea } from 'node:sea';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * No thread but the first one sees the files in a program of one file. There the thread is started
 * from its text, so that it imports nothing but Node's own modules: the build puts it in one file.
 * @param file of the thread, beside the module that asks
 */
export function startThread(file: URL, options: WorkerOptions = {}): Worker {
  if (!isSea()) return new Worker(file, options);
  return new Worker(readFileSync(file, 'utf8'), { ...options, eval: true });
}
