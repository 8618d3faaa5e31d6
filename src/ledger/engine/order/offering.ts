/**
 * Decides what of a conversation queue may be taken next: its first message and its first reply.
 * Each is offered when nothing of its side is offered or claimed.
 */
import type { Gathering } from './merging.ts';
import type { Queues } from './queues.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { ConversationQueue, Row } from './rows.ts';

/** A queue with this many unsettled replies gets no further message offered. */
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

  /**
   * @param isRestoring true while a start restores rows: no message is offered until all are back
   */
  restoring(isRestoring: boolean): void {
    this.#isRestoring = isRestoring;
    if (!isRestoring) for (const queue of this.#queues) this.message(queue);
  }

  /**
   * Offers the first message of the queue. A message that may still be merged with others is
   * offered when its wait ends.
   */
  message(queue: ConversationQueue): void {
    const head = queue.inbox.peek();
    if (queue.gathering !== null) this.withdraw(queue);
    if (head === undefined || queue.inBusy || queue.byHand || this.#isRestoring) return;
    if (queue.replies >= repliesMax) return;
    queue.inBusy = true;
    if (head.message?.gather !== undefined && this.#gathering.waits(head)) return;
    this.#ready.offer(head);
  }

  /** Stops the wait of the first message for messages to merge with. */
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

  /** Offers a released row before all others. A message of a taken-over queue is not offered. */
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

  /** Call when the end of a removed row is written: the next row of its side may start. */
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
