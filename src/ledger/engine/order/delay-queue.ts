/** Replies that wait for their time, and those that have left their lane for good. */
import type { Clock } from '../../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../../lib/deadlines.ts';
import { DeferredRows } from './deferred-rows.ts';
import type { OutRow } from './rows.ts';

export class DelayQueue {
  readonly #now: () => number;
  readonly #deadlines: Deadlines;
  readonly #ready: (row: OutRow) => void;
  readonly #parked = new Set<OutRow>();
  /** Those that wait for their time. */
  readonly deferred = new DeferredRows();

  /** @param ready is told of each whose time has come */
  constructor(clock: Clock, ready: (row: OutRow) => void) {
    this.#now = clock.now;
    this.#deadlines = createDeadlines(clock.steady);
    this.#ready = ready;
  }

  /** Parked replies until they are settled, whether they wait or are being tried. */
  get parked(): ReadonlySet<OutRow> {
    return this.#parked;
  }

  park(row: OutRow): void {
    row.late = true;
    row.parked = true;
    this.#parked.add(row);
    (row.queue.parked ??= new Set()).add(row);
  }

  /**
   * Where that is now or was before, it is ready at once.
   * @param at milliseconds since 1970; a clock that is set back later makes it wait no longer
   */
  until(row: OutRow, at: number): void {
    const ms = at - this.#now();
    if (ms <= 0) return this.#ready(row);
    row.dueAt = at;
    this.deferred.add(row);
    row.due = this.#deadlines.after(ms, () => {
      row.due = null;
      this.deferred.delete(row);
      this.#ready(row);
    });
  }

  /** It waits for no time any more, and is offered by whoever has stopped it. */
  stop(row: OutRow): void {
    if (row.due === null) return;
    row.due.cancel();
    row.due = null;
    this.deferred.delete(row);
  }

  offer(row: OutRow): void {
    this.#ready(row);
  }

  /** The reply is settled, or gone. */
  drop(row: OutRow): void {
    if (row.parked) {
      this.#parked.delete(row);
      row.queue.parked?.delete(row);
    }
    this.stop(row);
  }
}
