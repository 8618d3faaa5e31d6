/**
 * The main thread's side of the reader thread, which keeps reads from delaying messages. The first
 * read starts the thread, and a time without questions ends it. The thread has one question at a
 * time. The others wait here, up to a limit.
 *
 * none → asked → resting → asked … → none. A thread that dies, or takes too long over a question,
 * loses only that question. The next question starts a new thread.
 */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../lib/program.ts';
import { Queue } from '../../../lib/queue.ts';
import { ReadFailed, type LedgerReader } from '../../ledger.ts';
import {
  readerOver,
  type ReadArguments,
  type ReadName,
  type ReadResult,
} from '../../read/questions.ts';
import type { FromReader, ReaderData, ToReader } from './reader-thread.ts';

export type ReaderLimits = {
  /** How long one read may take, including the start of the thread. */
  readonly readMs: number;
  /** How long an idle thread stays. */
  readonly restMs: number;
  readonly waitingMax: number;
};

const defaults: ReaderLimits = { readMs: 10_000, restMs: 60_000, waitingMax: 64 };

/** @param path absolute; this program's writer must have upgraded the database */
export function createThreadReader(path: string, limits: Partial<ReaderLimits> = {}): LedgerReader {
  const thread = new ReaderThread(path, { ...defaults, ...limits });
  return readerOver(
    (question, asked) => thread.ask(question, asked),
    () => thread.close(),
  );
}

type Read = {
  readonly question: ToReader;
  readonly answered: (answer: unknown) => void;
  readonly failed: (error: ReadFailed) => void;
};

class ReaderThread {
  readonly #path: string;
  readonly #limits: ReaderLimits;
  readonly #waiting = new Queue<Read>();
  #worker: Worker | null = null;
  /** The question that the thread has now. */
  #read: Read | null = null;
  /** The timer that ends a slow read, or an idle thread. */
  #timer: NodeJS.Timeout | null = null;
  /** Resolves when all started threads are gone. */
  #ended: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(path: string, limits: ReaderLimits) {
    this.#path = path;
    this.#limits = limits;
  }

  ask<Q extends ReadName>(question: Q, asked: ReadArguments<Q>): Promise<ReadResult<Q>> {
    if (this.#closed) return Promise.reject(new ReadFailed('closed', 'The service is stopping.'));
    if (this.#waiting.length >= this.#limits.waitingMax) {
      const message = `${this.#limits.waitingMax} reads wait already; ask again in a moment.`;
      return Promise.reject(new ReadFailed('busy', message));
    }
    const { promise, resolve, reject } = Promise.withResolvers<ReadResult<Q>>();
    const answered = (answer: unknown): void => resolve(answer as ReadResult<Q>);
    this.#waiting.push({ question: { question, asked }, answered, failed: reject });
    this.#next();
    return promise;
  }

  /** Ends the thread, and rejects every unanswered question. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#end();
    const error = new ReadFailed('closed', 'The service is stopping.');
    this.#take()?.failed(error);
    for (let read = this.#waiting.shift(); read !== undefined; read = this.#waiting.shift()) {
      read.failed(error);
    }
    await this.#ended;
  }

  #next(): void {
    if (this.#read !== null) return;
    const read = this.#waiting.shift();
    if (read === undefined) return this.#rest();
    this.#read = read;
    this.#worker ??= this.#start();
    // While an answer is awaited, the worker may be all that keeps the process alive.
    this.#worker.ref();
    this.#worker.postMessage(read.question satisfies ToReader);
    const { readMs } = this.#limits;
    this.#after(readMs, () => {
      this.#failRead(new ReadFailed('too_slow', `The read took longer than ${readMs / 1_000} s.`));
    });
  }

  #rest(): void {
    this.#worker?.unref();
    this.#after(this.#limits.restMs, () => this.#end()).unref();
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './reader-thread.ts' : './reader-thread.js';
    const worker = startThread(new URL(file, import.meta.url), {
      workerData: { path: this.#path } satisfies ReaderData,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    });
    const died = (error?: Error): void => {
      if (this.#worker !== worker) return;
      const why = error === undefined ? '' : `: ${error.message}`;
      this.#failRead(new ReadFailed('storage', `The reading thread ended${why}.`));
    };
    worker.on('error', died);
    worker.on('exit', () => died());
    worker.on('message', (message: FromReader) => {
      if (this.#worker === worker) this.#onMessage(message);
    });
    return worker;
  }

  #onMessage(message: FromReader): void {
    const read = this.#take();
    if (message.kind === 'answered') read?.answered(message.answer);
    else read?.failed(new ReadFailed('storage', message.message));
    this.#next();
  }

  /** Ends the thread and fails its question. Waiting questions continue in a new thread. */
  #failRead(error: ReadFailed): void {
    this.#end();
    this.#take()?.failed(error);
    if (this.#waiting.length > 0) this.#next();
  }

  #take(): Read | null {
    const read = this.#read;
    this.#read = null;
    return read;
  }

  #end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const worker = this.#worker;
    this.#worker = null;
    if (worker !== null) this.#ended = bothEnded(this.#ended, worker.terminate());
  }

  #after(ms: number, then: () => void): NodeJS.Timeout {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(then, ms);
    return this.#timer;
  }
}

async function bothEnded(one: Promise<void>, other: Promise<unknown>): Promise<void> {
  await one;
  await other;
}

/** Enough for many pages of the longest texts. */
const heapMbMax = 256;
