/**
 * Finds lanes whose owner is no more, by the rows that lie in them, and makes them free. Once an
 * instance has died all rows are looked through; else a page at each beat, so that nothing lies
 * where nobody looks.
 */
import type { Reads } from '../deps.ts';
import { RowPages, type QueueName } from './row-pages.ts';

/** So many lanes are made free in one go. */
const queuesMax = 500;

/** $2: parked replies count, too; else they are found when they are due. */
const isLost = `(lane.owner IS NULL AND lane.waits < 2 AND (seen.runs OR $2))
  OR (lane.owner IS NOT NULL AND NOT EXISTS (
    SELECT FROM svc.instance AS one WHERE one.id = lane.owner AND NOT one.dead
  ))`;

const buried = 'UPDATE svc.instance SET buried = true WHERE id = ANY($1) AND dead AND NOT buried';

export type LostQueuesDeps = {
  readonly reads: Reads;
  /** Whether parked replies are to be in hand as well: there is nobody else. */
  readonly takesParked: () => boolean;
  /** Makes lanes free. @returns false: it is not known whether they are */
  readonly free: (queues: readonly QueueName[]) => Promise<boolean>;
  /** Writes down that they are over. */
  readonly write: (text: string, values: readonly unknown[]) => Promise<boolean>;
};

export class LostQueues {
  readonly #deps: LostQueuesDeps;
  readonly #pages: RowPages;
  #looking: Promise<void> | null = null;
  /** The dead that the newest look is for, and whether it goes over all rows. */
  #lookedFor: readonly number[] = [];
  #isWhole = false;

  constructor(deps: LostQueuesDeps) {
    this.#deps = deps;
    this.#pages = new RowPages(deps.reads, isLost);
  }

  /**
   * Resolves when all lanes of the dead are free, or cannot be made so now. Never rejects.
   * @param dead instances that are dead, and whose lanes may not be free
   * @param isWhole all rows are looked at; else a page, unless a look goes on
   */
  look(dead: readonly number[], isWhole = dead.length > 0): Promise<void> {
    const before = this.#looking;
    const isAsked = dead.every((id) => this.#lookedFor.includes(id)) && (!isWhole || this.#isWhole);
    if (before !== null && isAsked) return before;
    this.#lookedFor = dead;
    this.#isWhole = isWhole;
    const looked = (before ?? Promise.resolve())
      .then(async () => void (await (isWhole ? this.#lookAtAll(dead) : this.#next())))
      .catch(() => {})
      .finally(() => {
        if (this.#looking === looked) this.#looking = null;
      });
    this.#looking = looked;
    return looked;
  }

  async #lookAtAll(dead: readonly number[]): Promise<void> {
    this.#pages.begin();
    let isSound = true;
    for (let isOver = false; !isOver;) {
      const seen = await this.#next();
      isSound &&= seen.isSound;
      isOver = seen.isLast;
    }
    if (isSound && dead.length > 0) await this.#deps.write(buried, [dead]);
  }

  async #next(): Promise<{ readonly isLast: boolean; readonly isSound: boolean }> {
    const { free, takesParked } = this.#deps;
    const { queues, isLast } = await this.#pages.next(takesParked());
    let isSound = true;
    for (let from = 0; from < queues.length; from += queuesMax) {
      if (!(await free(queues.slice(from, from + queuesMax)))) isSound = false;
    }
    return { isLast, isSound };
  }
}
