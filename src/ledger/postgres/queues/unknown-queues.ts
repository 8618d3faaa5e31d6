/**
 * Finds lanes that are this instance's by the tables, and that it does not know: a crash of the
 * server has undone that they were let go. Whoever accepts a message there leaves it to this
 * instance. At each beat a page of the rows is looked at that have lain for a while.
 */
import { timeText } from '../../../domain/ids.ts';
import type { Reads } from '../deps.ts';
import { RowPages, type QueueName } from './row-pages.ts';

/** What is in hand is seldom older. */
const oldMs = 10_000;

export type UnknownQueuesDeps = {
  readonly instance: number;
  readonly reads: Reads;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly isKnown: (queue: QueueName) => boolean;
  readonly take: (queues: readonly QueueName[]) => Promise<void>;
};

export class UnknownQueues {
  readonly #deps: UnknownQueuesDeps;
  readonly #pages: RowPages;
  #isLooking = false;

  constructor(deps: UnknownQueuesDeps) {
    this.#deps = deps;
    this.#pages = new RowPages(deps.reads, 'lane.owner = $2', ' AND id < $3');
  }

  /** Nothing is done while a look goes on. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { instance, now, isKnown, take } = this.#deps;
      const { queues } = await this.#pages.next(instance, timeText(now() - oldMs));
      const unknown = queues.filter((queue) => !isKnown(queue));
      if (unknown.length > 0) await take(unknown);
    } catch {
      // The next beat looks again.
    } finally {
      this.#isLooking = false;
    }
  }
}
