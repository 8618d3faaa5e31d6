import { Worker } from 'node:worker_threads';
import type { FromWriter } from './statements.ts';
import type { WriterData } from './writer.ts';

export type WriterProblem = { readonly errcode: number; readonly message: string };

/** Starts the writer thread; it has opened the database and its schema is current, or a problem. */
export function startWriter(data: WriterData): Promise<Worker | WriterProblem> {
  const file = import.meta.url.endsWith('.ts') ? './writer.ts' : './writer.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData: data });
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the storage thread ended before it was ready'));
    worker.once('error', reject);
    worker.once('exit', ended);
    worker.on('message', function first(message: FromWriter) {
      if (message.kind !== 'open' && message.kind !== 'unopened') return;
      worker.off('message', first);
      worker.off('error', reject);
      worker.off('exit', ended);
      resolve(message.kind === 'open' ? worker : message);
    });
  });
}
