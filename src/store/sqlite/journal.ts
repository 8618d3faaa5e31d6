/**
 * The main thread's side of the writer: what is written in one go becomes one group, and a group is
 * sent as soon as the one before is on disk. So a lone message waits for nothing, and under load
 * many share one fsync.
 *
 * A group is gathering → sent → done | failed. The first failure is final: the caller is told once,
 * and nothing is written any more (after a failed fsync nobody knows what is on the disk).
 */
import { Worker } from 'node:worker_threads';
import type { FromWriter, GroupDone, KeyedAccept, ToWriter, Write } from './statements.ts';
import type { WriterData } from './writer.ts';

/** How long a write that nobody waits for may wait for company. */
const lazyMs = 5;

export type Known = ReadonlyMap<number, string>;
type Written = (known: Known | null) => void;

const nothingKnown: Known = new Map();

export class Journal {
  readonly #worker: Worker;
  #failed: (message: string) => void = () => {};
  #writes: (Write | KeyedAccept)[] = [];
  #waiting: Written[] = [];
  /** What waits for the group that is with the writer; null: none is. */
  #sent: Written[] | null = null;
  #number = 0;
  #scheduled = false;
  #lazy: NodeJS.Timeout | null = null;
  #broken = false;
  #closed: (() => void) | null = null;
  #looked: () => void = () => {};
  /** What the disk has left, as last looked at. */
  freeBytes: number;

  constructor(worker: Worker, freeBytes: number) {
    this.#worker = worker;
    this.freeBytes = freeBytes;
    worker.on('message', (message: FromWriter) => this.#hear(message));
    worker.on('error', (error: Error) => this.#break(error.message));
    worker.on('exit', () => {
      if (this.#closed === null) this.#break('the storage thread ended');
      else this.#closed();
    });
  }

  /** Is told once, when nothing can be written any more. */
  onBroken(failed: (message: string) => void): void {
    this.#failed = failed;
  }

  /** Is told each time the disk has been looked at. */
  onDisk(looked: () => void): void {
    this.#looked = looked;
  }

  /** Writes asked for and not yet on disk. */
  get pending(): number {
    return this.#waiting.length + (this.#sent?.length ?? 0);
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** @returns its place in the group, by which a keyed message is told whether it was known */
  add(write: Write | KeyedAccept): number {
    return this.#writes.push(write) - 1;
  }

  /** `written` is called when all that was added is on disk: null when it could not be. */
  flush(written: Written): void {
    if (this.#broken) return queueMicrotask(() => written(null));
    this.#waiting.push(written);
    if (this.#sent !== null || this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#send);
  }

  /** As `flush`, but it may wait a few milliseconds for others to go with. */
  flushSoon(written: Written): void {
    if (this.#broken) return queueMicrotask(() => written(null));
    this.#waiting.push(written);
    if (this.#sent === null && !this.#scheduled) this.#lazy ??= setTimeout(this.#send, lazyMs);
  }

  /** Resolves once all that was added is on disk and `then` was done; false when it cannot be. */
  written(then: () => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush((known) => {
        if (known !== null) then();
        resolve(known !== null);
      });
    });
  }

  /** Resolves when these are on disk; rejects when they cannot be. */
  write(writes: readonly Write[]): Promise<void> {
    for (const write of writes) this.add(write);
    return new Promise((resolve, reject) => {
      this.flush((known) => {
        if (known === null) reject(new Error('what was recovered could not be written'));
        else resolve();
      });
    });
  }

  /** Writes what is left and lets the writer go. */
  async close(): Promise<void> {
    if (!this.#broken) {
      await new Promise<void>((resolve) => this.flush(() => resolve()));
      const closed = new Promise<void>((resolve) => {
        this.#closed = resolve;
      });
      this.#worker.postMessage({ kind: 'close' } satisfies ToWriter);
      await closed;
    }
    await this.#worker.terminate();
  }

  readonly #send = (): void => {
    this.#scheduled = false;
    if (this.#lazy !== null) clearTimeout(this.#lazy);
    this.#lazy = null;
    if (this.#sent !== null || this.#waiting.length === 0 || this.#broken) return;
    const group = { number: ++this.#number, writes: this.#writes };
    this.#sent = this.#waiting;
    this.#writes = [];
    this.#waiting = [];
    if (group.writes.length === 0) this.#hear({ kind: 'done', number: group.number, known: [] });
    else this.#worker.postMessage(JSON.stringify(group) satisfies ToWriter);
  };

  #hear(message: FromWriter): void {
    switch (message.kind) {
      case 'done':
        return this.#done(message);
      case 'failed':
        return this.#break(message.message);
      case 'disk':
        this.freeBytes = message.freeBytes;
        return this.#looked();
      case 'open':
      case 'unopened':
      case 'closed':
        return;
      default:
        message satisfies never;
    }
  }

  #done({ known }: Extract<GroupDone, { kind: 'done' }>): void {
    const waiting = this.#sent ?? [];
    this.#sent = null;
    const ids = known.length === 0 ? nothingKnown : new Map(known);
    for (const written of waiting) written(ids);
    if (this.#waiting.length > 0) this.#send();
  }

  #break(message: string): void {
    if (this.#broken) return;
    this.#broken = true;
    const waiting = [...(this.#sent ?? []), ...this.#waiting];
    this.#sent = null;
    this.#waiting = [];
    this.#writes = [];
    this.#failed(message);
    for (const written of waiting) written(null);
    this.#closed?.();
  }
}

export type WriterProblem = { readonly errcode: number; readonly message: string };

/** Starts the writer thread; it has opened the database and its schema is current, or a problem. */
export function startWriter(data: WriterData): Promise<Worker | WriterProblem> {
  const file = import.meta.url.endsWith('.ts') ? './writer.ts' : './writer.js';
  const worker = new Worker(new URL(file, import.meta.url), { workerData: data });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.on('message', function first(message: FromWriter) {
      if (message.kind !== 'open' && message.kind !== 'unopened') return;
      worker.off('message', first);
      worker.off('error', reject);
      resolve(message.kind === 'open' ? worker : message);
    });
  });
}
