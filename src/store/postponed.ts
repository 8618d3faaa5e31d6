/** Replies that wait for their time, and those that have left their lane for good. */
import { createDeadlines, type Deadlines } from '../lib/deadlines.ts';
import type { OutRow } from './rows.ts';

export class Postponed {
  readonly #deadlines: Deadlines;
  readonly #ready: (row: OutRow) => void;
  readonly #parked = new Set<OutRow>();
  /** How many wait for their time. */
  waiting = 0;

  /** @param ready is told of each whose time has come */
  constructor(now: () => number, ready: (row: OutRow) => void) {
    this.#deadlines = createDeadlines(now);
    this.#ready = ready;
  }

  /** Until they are settled, whether they wait or are being tried. */
  get parked(): ReadonlySet<OutRow> {
    return this.#parked;
  }

  park(row: OutRow): void {
    row.late = true;
    row.parked = true;
    this.#parked.add(row);
  }

  until(row: OutRow, at: number): void {
    this.waiting++;
    row.due = this.#deadlines.at(at, () => {
      row.due = null;
      this.waiting--;
      this.#ready(row);
    });
  }

  /** It is settled, or gone. */
  drop(row: OutRow): void {
    if (row.parked) this.#parked.delete(row);
    if (row.due === null) return;
    row.due.cancel();
    row.due = null;
    this.waiting--;
  }
}
