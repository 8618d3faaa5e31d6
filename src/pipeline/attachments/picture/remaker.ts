/** Re-encodes pictures in a worker thread, one at a time, with limits of memory and time. */
import type { Worker } from 'node:worker_threads';
import type { Deadline, Deadlines } from '../../../lib/deadlines.ts';
import { startThread } from '../../../lib/program.ts';
import type { Stop } from '../../../lib/stop.ts';
import { FairQueue } from '../../../lib/fair-queue.ts';
import type { Pictures, Remade } from './picture.ts';
import { sizeOf } from './size.ts';

export type ToPictureThread = { readonly bytes: Uint8Array };
/** null: it could not be decoded. */
export type FromPictureThread = { readonly made: Uint8Array<ArrayBuffer> | null };

export type RemakerLimits = {
  /** Memory that decoding one picture may take. */
  readonly heldBytesMax: number;
  /** Time for one picture. */
  readonly remakeMs: number;
  /** A thread without work ends after this time. */
  readonly restMs: number;
  /** Heap of the thread, without the memory for decoding. */
  readonly heapMbMax: number;
};

const remakerLimits: RemakerLimits = {
  heldBytesMax: 360 * 1024 * 1024,
  remakeMs: 10_000,
  restMs: 60_000,
  heapMbMax: 256,
};

/** Creates the queue for pictures; its thread starts with the first picture. */
export function createPictures(
  deadlines: Deadlines,
  limits: Partial<RemakerLimits> = {},
): Pictures {
  return new Remaker(deadlines, { ...remakerLimits, ...limits });
}

type QueuedPicture = { readonly bytes: Uint8Array; readonly resolve: (remade: Remade) => void };

const stopped: Remade = { kind: 'stopped' };

/**
 * Re-encodes one picture at a time in one thread. The queue is as long as the turns that ask. A
 * thread that takes too long, or ends, is given up with its picture; the next picture gets a new
 * thread.
 */
class Remaker implements Pictures {
  readonly #deadlines: Deadlines;
  readonly #limits: RemakerLimits;
  readonly #waiting = new FairQueue<QueuedPicture>();
  #current: QueuedPicture | null = null;
  #worker: Worker | null = null;
  #deadline: Deadline | null = null;
  #closed = false;

  constructor(deadlines: Deadlines, limits: RemakerLimits) {
    this.#deadlines = deadlines;
    this.#limits = limits;
  }

  async remake(bytes: Uint8Array, owner: string, stop: Stop): Promise<Remade> {
    const size = sizeOf(bytes);
    if (size === null) return { kind: 'unknown' };
    if (size.heldBytes > this.#limits.heldBytesMax) return { kind: 'too_large' };
    if (this.#closed || stop.stopped) return stopped;
    const { promise, resolve } = Promise.withResolvers<Remade>();
    const queued = { bytes, resolve };
    const cancel = (): void => this.#cancel(owner, queued);
    stop.listen(cancel);
    this.#waiting.push(owner, queued);
    if (this.#current === null) this.#next();
    return promise.finally(() => stop.unlisten(cancel));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      next.resolve(stopped);
    }
    await this.#abandon(stopped);
  }

  #cancel(owner: string, queued: QueuedPicture): void {
    if (this.#current === queued) return void this.#abandon(stopped);
    this.#waiting.delete(owner, queued);
    queued.resolve(stopped);
  }

  #next(): void {
    this.#deadline?.cancel();
    this.#current = this.#waiting.shift() ?? null;
    if (this.#current === null) {
      this.#worker?.unref();
      this.#deadline = this.#deadlines.after(this.#limits.restMs, () => void this.#stopThread());
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    const { bytes } = this.#current;
    this.#worker.postMessage({ bytes } satisfies ToPictureThread);
    this.#deadline = this.#deadlines.after(this.#limits.remakeMs, () => {
      void this.#abandon({ kind: 'too_large' });
    });
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './picture-thread.ts' : './picture-thread.js';
    const resourceLimits = { maxOldGenerationSizeMb: this.#limits.heapMbMax };
    const worker = startThread(new URL(file, import.meta.url), { resourceLimits });
    const died = (): void => {
      if (this.#worker === worker) void this.#abandon({ kind: 'unknown' });
    };
    worker.on('error', died);
    worker.on('exit', died);
    worker.on('message', ({ made }: FromPictureThread) => {
      if (this.#worker !== worker) return;
      this.#settle(
        made === null
          ? { kind: 'unknown' }
          : { kind: 'remade', picture: { type: 'image/jpeg', bytes: made } },
      );
      this.#next();
    });
    return worker;
  }

  #settle(remade: Remade): void {
    const queued = this.#current;
    this.#current = null;
    queued?.resolve(remade);
  }

  async #abandon(remade: Remade): Promise<void> {
    const ended = this.#stopThread();
    this.#settle(remade);
    if (!this.#closed) this.#next();
    await ended;
  }

  async #stopThread(): Promise<void> {
    this.#deadline?.cancel();
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}
