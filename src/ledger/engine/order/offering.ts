/**
 * What of a lane may be taken next: its first message and its first reply, each when nothing of its
 * side is under way.
 */
import type { Gathering } from './merging.ts';
import type { Queues } from './queues.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { ConversationQueue, Row } from './rows.ts';

/** A conversation with so many unsettled replies gets no further message offered. */
const repliesMax = 100;

export class Offering {
  readonly #ready: ReadyQueues;
  readonly #queues: Queues;
  readonly #gathering: Gathering;
  #isRestoring = false;
  #rested: (queue: ConversationQueue) => void = () => {};

  constructor(ready: ReadyQueues, queues: Queues, gathering: Gathering) {
    this.#ready = ready;
    this.#queues = queues;
    this.#gathering = gathering;
  }

  onRest(rested: (queue: ConversationQueue) => void): void {
    this.#rested = rested;
  }

  /** @param isRestoring rows of before are being put back: no message is offered until all are */
  restoring(isRestoring: boolean): void {
    this.#isRestoring = isRestoring;
    if (!isRestoring) for (const queue of this.#queues) this.message(queue);
  }

  /** Where its first message may still be one with more, it is offered in its time. */
  message(queue: ConversationQueue): void {
    const head = queue.inbox.peek();
    if (queue.gathering !== null) this.withdraw(queue);
    if (head === undefined || queue.inBusy || queue.byHand || this.#isRestoring) return;
    if (queue.replies >= repliesMax) return;
    queue.inBusy = true;
    if (head.message?.gather !== undefined && this.#gathering.waits(head)) return;
    this.#ready.offer(head);
  }

  /** A head that waits for more does so no longer. */
  withdraw(queue: ConversationQueue): void {
    if (queue.gathering === null) return;
    this.#gathering.stop(queue);
    queue.inBusy = false;
  }

  reply(queue: ConversationQueue): void {
    const head = queue.outbox.peek();
    if (head === undefined || queue.outBusy) return;
    queue.outBusy = true;
    this.#ready.offer(head);
  }

  /** A row was given back: it is the first to be taken, unless an operator has its lane. */
  again(row: Row): void {
    if (row.box === 'in' && row.queue.byHand) row.queue.inBusy = false;
    else this.#ready.offerFirst(row);
    this.rest(row.queue);
  }

  goOn(queue: ConversationQueue): void {
    this.message(queue);
    this.reply(queue);
    this.rest(queue);
  }

  /** The end of a row that is gone has been written down. */
  pass(row: Row): void {
    if (row.box === 'in') row.queue.inBusy = false;
    else if (!row.parked) row.queue.outBusy = false;
    this.goOn(row.queue);
  }

  rest(queue: ConversationQueue): void {
    this.#queues.rest(queue);
    this.#rested(queue);
  }
}
