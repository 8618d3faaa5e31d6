import { Worker } from 'node:worker_threads';
import type { FromWriter, ToWriter } from './statements.ts';
import type { Upgrade } from '../files/migrations.ts';
import type { WriterData } from './writer.ts';

/** Who writes, as the journal knows it: a thread, or a stand-in that answers like one. */
export interface Writer {
  on(event: 'message', hear: (message: FromWriter) => void): unknown;
  on(event: 'error', hear: (error: Error) => void): unknown;
  on(event: 'exit', hear: () => void): unknown;
  postMessage(message: ToWriter): void;
  terminate(): Promise<unknown>;
}

/** Resolves when the database is open and its schema is current, or with what is wrong. */
export type StartWriter = (
  data: WriterData,
  upgrading?: (upgrade: Upgrade) => void,
) => Promise<Writer | WriterProblem>;

export type WriterProblem = { readonly errcode: number; readonly message: string };

/** Starts the writer in a thread of its own. */
export const startWriter: StartWriter = (data, upgrading) => {
  const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData: data });
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the storage thread ended before it was ready'));
    worker.once('error', reject);
    worker.once('exit', ended);
    worker.on('message', function first(message: FromWriter) {
      if (message.kind === 'upgrading') upgrading?.(message);
      if (message.kind !== 'open' && message.kind !== 'unopened') return;
      worker.off('message', first);
      worker.off('error', reject);
      worker.off('exit', ended);
      resolve(message.kind === 'open' ? worker : message);
    });
  });
};
