/** Replies that wait for their next attempt, and parked replies. */
import type { Clock } from '../../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../../lib/deadlines.ts';
import { DeferredRows } from './deferred-rows.ts';
import type { OutRow } from './queue.ts';

export class DelayQueue {
  readonly #now: () => number;
  readonly #deadlines: Deadlines;
  readonly #ready: (row: OutRow) => void;
  readonly #parked = new Set<OutRow>();
  /** The replies that wait for their next attempt. */
  readonly deferred = new DeferredRows();

  /** @param ready called with each reply that is due */
  constructor(clock: Clock, ready: (row: OutRow) => void) {
    this.#now = clock.now;
    this.#deadlines = createDeadlines(clock.steady);
    this.#ready = ready;
  }

  /** Parked replies that are not settled, whether they wait or are being tried. */
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
   * Makes a reply wait until `at`. If that is now or past, the reply is ready at once.
   * @param at milliseconds since 1970. Setting the clock back later makes the wait no longer
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

  /** Cancels the wait of a reply. The caller offers it. */
  stop(row: OutRow): void {
    if (row.due === null) return;
    row.due.cancel();
    row.due = null;
    this.deferred.delete(row);
  }

  offer(row: OutRow): void {
    this.#ready(row);
  }

  /** Forgets a reply that is settled or gone. */
  drop(row: OutRow): void {
    if (row.parked) {
      this.#parked.delete(row);
      row.queue.parked?.delete(row);
    }
    this.stop(row);
  }
}
