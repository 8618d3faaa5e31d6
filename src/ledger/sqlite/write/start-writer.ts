/** Starts the writer: its contract, and the thread that it usually runs in. */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../lib/program.ts';
import type { FromWriter, ToWriter } from './statements.ts';
import type { Upgrade } from '../files/migrations.ts';
import type { WriterData } from './writer.ts';

/** The writer as the group commit sees it: a thread, or a stand-in that answers like one. */
export interface Writer {
  on(event: 'message', listener: (message: FromWriter) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  postMessage(message: ToWriter): void;
  terminate(): Promise<unknown>;
}

/**
 * Starts the writer. Resolves when the database is open with the current schema, or with the
 * problem.
 */
export type StartWriter = (
  data: WriterData,
  upgrading?: (upgrade: Upgrade) => void,
) => Promise<Writer | WriterProblem>;

export type WriterProblem = {
  readonly errcode: number;
  readonly code?: string | undefined;
  readonly message: string;
};

/** Starts the writer in a thread of its own. */
export const startWriter: StartWriter = (data, upgrading) =>
  new WriterThread().start(data, upgrading);

/**
 * A thread for the writer. Starting a thread takes longer than opening a database, so it may begin
 * before its use. Until `start` it has nothing open and touches no file.
 */
export class WriterThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #opened = Promise.withResolvers<Writer | WriterProblem>();
  #upgrading: ((upgrade: Upgrade) => void) | undefined;
  #isStarted = false;

  constructor() {
    const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js';
    const worker = startThread(new URL(file, import.meta.url));
    const { promise, resolve, reject } = this.#opened;
    // Nobody needs to handle the end of a thread that was not started.
    promise.catch(() => {});
    const ended = (): void => reject(new Error('the storage thread ended before it was ready'));
    worker.once('error', reject);
    worker.once('exit', ended);
    const listener = (message: FromWriter): void => {
      if (message.kind === 'upgrading') this.#upgrading?.(message);
      if (message.kind !== 'open' && message.kind !== 'unopened') return;
      worker.off('message', listener);
      worker.off('error', reject);
      worker.off('exit', ended);
      resolve(message.kind === 'open' ? worker : message);
    };
    worker.on('message', listener);
    this.#worker = worker;
  }

  /** Call it once. From then on the caller ends the thread. */
  readonly start: StartWriter = (data, upgrading) => {
    this.#isStarted = true;
    this.#upgrading = upgrading;
    this.#worker.postMessage(data);
    return this.#opened.promise;
  };

  /** Ends a thread that was not started. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isStarted) await this.#worker.terminate();
  }
}
