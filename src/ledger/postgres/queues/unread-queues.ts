/** Lanes that are to be read before what has come into them is worked. */
import type { OwnedQueue } from './owned-queue.ts';

export class UnreadQueues {
  readonly #queues = new Set<OwnedQueue>();
  /** How many are being read. */
  #reading = 0;

  get hasAny(): boolean {
    return this.#queues.size > 0;
  }

  /** How many are to be read, or are being read. */
  get pending(): number {
    return this.#queues.size + this.#reading;
  }

  add(queue: OwnedQueue): void {
    this.#queues.add(queue);
  }

  delete(queue: OwnedQueue): void {
    this.#queues.delete(queue);
  }

  clear(): void {
    this.#queues.clear();
  }

  /** All of them; from now on they count as being read. */
  take(): readonly OwnedQueue[] {
    const queues = [...this.#queues];
    this.#queues.clear();
    this.#reading += queues.length;
    return queues;
  }

  /** Whatever was taken was read, or is not to be any more. */
  allRead(): void {
    this.#reading = 0;
  }
}
