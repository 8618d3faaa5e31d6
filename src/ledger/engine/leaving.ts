/** Takes rows out of the working set, and merges messages that are handed out as one. */
import type { DelayQueue } from './schedule.ts';
import { mergeableBehind } from './merging.ts';
import type { ReadyQueues } from './ready-queues.ts';
import { noneMerged, type InRow, type OutRow, type Row } from './queue.ts';
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
  merge(row: InRow): void {
    row.merged = mergeableBehind(row);
    for (const other of row.merged) {
      other.taken = true;
      this.#totals.claimed.in++;
    }
  }

  /** Undoes `merge`: the merged messages are separate messages again. */
  unmerge(row: InRow): void {
    for (const other of row.merged) {
      if (other.gone) continue;
      other.taken = false;
      this.#totals.claimed.in--;
    }
    row.merged = noneMerged;
  }

  /**
   * Removes an ended message and the messages merged into it. They are the first rows of their
   * queue.
   */
  settleMessage(row: InRow): void {
    for (const other of row.merged) if (!other.gone) this.#settleOne(other);
    if (!row.gone) this.#settleOne(row);
    row.merged = noneMerged;
  }

  /** Removes a row in any state. The caller has taken it out of its queue, or it is parked. */
  remove(row: Row): void {
    row.gone = true;
    if (row.taken) this.#totals.claimed[row.box]--;
    this.#ready.removeUnsettled(row);
    if (row.box === 'out') {
      row.queue.replies--;
      this.#totals.removeReply(row);
      this.#delayed.drop(row);
    }
    this.#totals.closeRow(row.progress);
  }

  settleReply(row: OutRow): void {
    const { queue } = row;
    this.#ready.removeUnsettled(row);
    queue.replies--;
    this.#totals.removeReply(row);
    this.#delayed.drop(row);
    if (!row.parked) queue.outbox.shift();
    this.#totals.closeRow(row.progress);
  }

  #settleOne(row: InRow): void {
    this.#totals.claimed.in--;
    this.#ready.removeUnsettled(row);
    row.queue.inbox.shift();
    this.#totals.closeRow(row.progress);
  }
}
