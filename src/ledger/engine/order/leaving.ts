/** Takes rows out of the working set, and merges messages that are handed out as one. */
import type { DelayQueue } from './delay-queue.ts';
import { piecesOf } from './merging.ts';
import type { ReadyQueues } from './ready-queues.ts';
import { noneJoined, type InRow, type OutRow, type Row } from './rows.ts';
import type { Totals } from './totals.ts';

export class Leaving {
  readonly #totals: Totals;
  readonly #ready: ReadyQueues;
  readonly #delayed: DelayQueue;

  constructor(totals: Totals, ready: ReadyQueues, delayed: DelayQueue) {
    this.#totals = totals;
    this.#ready = ready;
    this.#delayed = delayed;
  }

  /** Merges into a taken message the messages behind it that belong to it. */
  join(row: InRow): void {
    row.joined = piecesOf(row);
    for (const piece of row.joined) {
      piece.taken = true;
      this.#totals.claimed.in++;
    }
  }

  /** Undoes `join`: the merged messages are separate messages again. */
  part(row: InRow): void {
    for (const piece of row.joined) {
      if (piece.gone) continue;
      piece.taken = false;
      this.#totals.claimed.in--;
    }
    row.joined = noneJoined;
  }

  /**
   * Removes an ended message and the messages merged into it. They are the first rows of their
   * queue.
   */
  settle(row: InRow): void {
    for (const piece of row.joined) if (!piece.gone) this.#settleOne(piece);
    if (!row.gone) this.#settleOne(row);
    row.joined = noneJoined;
  }

  /** Removes a row that `ConversationQueue.extract` has taken out, whatever its state. */
  vanish(row: Row): void {
    row.gone = true;
    if (row.taken) this.#totals.claimed[row.box]--;
    this.#ready.went(row);
    if (row.box === 'out') {
      row.queue.replies--;
      this.#totals.replyWent(row);
      this.#delayed.drop(row);
    }
    this.#totals.left(row.progress);
  }

  drop(row: OutRow): void {
    const { queue } = row;
    this.#ready.went(row);
    queue.replies--;
    this.#totals.replyWent(row);
    this.#delayed.drop(row);
    if (!row.parked) queue.outbox.shift();
    this.#totals.left(row.progress);
  }

  #settleOne(row: InRow): void {
    this.#totals.claimed.in--;
    this.#ready.went(row);
    row.queue.inbox.shift();
    this.#totals.left(row.progress);
  }
}
