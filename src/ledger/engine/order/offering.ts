/**
 * What of a lane may be taken next: its first message and its first reply, each when nothing of its
 * side is under way.
 */
import type { Gathering } from './merging.ts';
import type { Lanes } from './queues.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { Lane, Row } from './rows.ts';

/** A conversation with so many unsettled replies gets no further message offered. */
const repliesMax = 100;

export class Offering {
  readonly #ready: ReadyQueues;
  readonly #lanes: Lanes;
  readonly #gathering: Gathering;
  #isRestoring = false;
  #rested: (lane: Lane) => void = () => {};

  constructor(ready: ReadyQueues, lanes: Lanes, gathering: Gathering) {
    this.#ready = ready;
    this.#lanes = lanes;
    this.#gathering = gathering;
  }

  onRest(rested: (lane: Lane) => void): void {
    this.#rested = rested;
  }

  /** @param isRestoring rows of before are being put back: no message is offered until all are */
  restoring(isRestoring: boolean): void {
    this.#isRestoring = isRestoring;
    if (!isRestoring) for (const lane of this.#lanes) this.message(lane);
  }

  /** Where its first message may still be one with more, it is offered in its time. */
  message(lane: Lane): void {
    const head = lane.inbox.peek();
    if (lane.gathering !== null) this.withdraw(lane);
    if (head === undefined || lane.inBusy || lane.byHand || this.#isRestoring) return;
    if (lane.replies >= repliesMax) return;
    lane.inBusy = true;
    if (head.message?.gather !== undefined && this.#gathering.waits(head)) return;
    this.#ready.offer(head);
  }

  /** A head that waits for more does so no longer. */
  withdraw(lane: Lane): void {
    if (lane.gathering === null) return;
    this.#gathering.stop(lane);
    lane.inBusy = false;
  }

  reply(lane: Lane): void {
    const head = lane.outbox.peek();
    if (head === undefined || lane.outBusy) return;
    lane.outBusy = true;
    this.#ready.offer(head);
  }

  /** A row was given back: it is the first to be taken, unless an operator has its lane. */
  again(row: Row): void {
    if (row.box === 'in' && row.lane.byHand) row.lane.inBusy = false;
    else this.#ready.offerFirst(row);
    this.rest(row.lane);
  }

  goOn(lane: Lane): void {
    this.message(lane);
    this.reply(lane);
    this.rest(lane);
  }

  /** The end of a row that is gone has been written down. */
  pass(row: Row): void {
    if (row.box === 'in') row.lane.inBusy = false;
    else if (!row.parked) row.lane.outBusy = false;
    this.goOn(row.lane);
  }

  rest(lane: Lane): void {
    this.#lanes.rest(lane);
    this.#rested(lane);
  }
}
