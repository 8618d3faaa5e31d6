/**
 * Finds lanes that are this instance's by the tables, and that it does not know: a crash of the
 * server has undone that they were let go. Whoever accepts a message there leaves it to this
 * instance. At each beat a page of the rows is looked at that have lain for a while.
 */
import { timeText } from '../../../domain/ids.ts';
import type { Reads } from '../deps.ts';
import { RowPages, type LaneName } from './row-pages.ts';

/** What is in hand is seldom older. */
const oldMs = 10_000;

export type UnknownLanesParts = {
  readonly instance: number;
  readonly reads: Reads;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly isKnown: (lane: LaneName) => boolean;
  readonly take: (lanes: readonly LaneName[]) => Promise<void>;
};

export class UnknownLanes {
  readonly #parts: UnknownLanesParts;
  readonly #pages: RowPages;
  #isLooking = false;

  constructor(parts: UnknownLanesParts) {
    this.#parts = parts;
    this.#pages = new RowPages(parts.reads, 'lane.owner = $2', ' AND id < $3');
  }

  /** Nothing is done while a look goes on. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { instance, now, isKnown, take } = this.#parts;
      const { lanes } = await this.#pages.next(instance, timeText(now() - oldMs));
      const unknown = lanes.filter((lane) => !isKnown(lane));
      if (unknown.length > 0) await take(unknown);
    } catch {
      // The next beat looks again.
    } finally {
      this.#isLooking = false;
    }
  }
}
