/**
 * Decides what of a conversation queue may be taken next: its first message and its first reply.
 * Each is offered when nothing of its side is offered or claimed.
 */
import type { MergeWaits } from './merging.ts';
import type { Queues } from './queues.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { ConversationQueue, Row } from './queue.ts';

/** A queue with this many unsettled replies gets no further message offered. */
const repliesMax = 100;

export class Offering {
  readonly #ready: ReadyQueues;
  readonly #queues: Queues;
  readonly #mergeWaits: MergeWaits;
  #isRestoring = false;
  #restListener: (queue: ConversationQueue) => void = () => {};

  constructor(ready: ReadyQueues, queues: Queues, mergeWaits: MergeWaits) {
    this.#ready = ready;
    this.#queues = queues;
    this.#mergeWaits = mergeWaits;
  }

  onRest(listener: (queue: ConversationQueue) => void): void {
    this.#restListener = listener;
  }

  /**
   * @param isRestoring true while a start restores rows: no message is offered until all are back
   */
  restoring(isRestoring: boolean): void {
    this.#isRestoring = isRestoring;
    if (!isRestoring) for (const queue of this.#queues) this.offerMessage(queue);
  }

  /**
   * Offers the first message of the queue. A message that may still be merged with others is
   * offered when its wait ends.
   */
  offerMessage(queue: ConversationQueue): void {
    const head = queue.inbox.peek();
    if (queue.mergeWait !== null) this.withdraw(queue);
    if (head === undefined || queue.inBusy || queue.isTakenOver || this.#isRestoring) return;
    if (queue.replies >= repliesMax) return;
    queue.inBusy = true;
    if (head.message?.gather !== undefined && this.#mergeWaits.start(head)) return;
    this.#ready.offer(head);
  }

  /** Stops the wait of the first message for messages to merge with. */
  withdraw(queue: ConversationQueue): void {
    if (queue.mergeWait === null) return;
    this.#mergeWaits.stop(queue);
    queue.inBusy = false;
  }

  offerReply(queue: ConversationQueue): void {
    const head = queue.outbox.peek();
    if (head === undefined || queue.outBusy) return;
    queue.outBusy = true;
    this.#ready.offer(head);
  }

  /** Offers a released row before all others. A message of a taken-over queue is not offered. */
  offerAgain(row: Row): void {
    if (row.box === 'in' && row.queue.isTakenOver) row.queue.inBusy = false;
    else this.#ready.offerFirst(row);
    this.rest(row.queue);
  }

  offerNext(queue: ConversationQueue): void {
    this.offerMessage(queue);
    this.offerReply(queue);
    this.rest(queue);
  }

  /** Call when the end of a removed row is written: the next row of its side may start. */
  endWritten(row: Row): void {
    if (row.box === 'in') row.queue.inBusy = false;
    else if (!row.parked) row.queue.outBusy = false;
    this.offerNext(row.queue);
  }

  rest(queue: ConversationQueue): void {
    this.#queues.updateIdle(queue);
    this.#restListener(queue);
  }
}
