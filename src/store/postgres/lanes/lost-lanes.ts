/**
 * Finds lanes whose owner is no more, by the rows that lie in them, and makes them free. Once an
 * instance has died all rows are looked through; else a page at each beat, so that nothing lies
 * where nobody looks.
 */
import type { Reads } from '../parts.ts';
import type { Rows } from '../write/statement.ts';

/** So many rows are looked at in one go. */
const rowsMax = 2_000;
/** So many lanes are made free in one go. */
const lanesMax = 500;

/** $1: the last id of the page before. A parked reply is found when it is due. */
const page = (table: string, runs: string): string => `
WITH seen AS (
  SELECT id, channel, conversation, ${runs} AS runs FROM svc.${table}
  WHERE id > $1 ORDER BY id LIMIT ${rowsMax}
)
SELECT DISTINCT seen.channel, seen.conversation, NULL AS last, 0 AS rows FROM seen
JOIN svc.lane AS lane ON lane.channel = seen.channel AND lane.conversation = seen.conversation
WHERE (lane.owner IS NULL AND lane.waits < 2 AND seen.runs) OR (lane.owner IS NOT NULL AND NOT EXISTS (
  SELECT FROM svc.instance AS one WHERE one.id = lane.owner AND NOT one.dead
))
UNION ALL SELECT NULL, NULL, max(id), count(*)::int FROM seen`;
const pages = [page('inbox', 'true'), page('outbox', 'NOT parked')] as const;

const buried = 'UPDATE svc.instance SET buried = true WHERE id = ANY($1) AND dead AND NOT buried';

type LostLane = { readonly channel: string; readonly conversation: string };

export type LostLanesParts = {
  readonly reads: Reads;
  /** Makes lanes free. @returns false: it is not known whether they are */
  readonly free: (lanes: readonly LostLane[]) => Promise<boolean>;
  /** Writes down that they are over. */
  readonly write: (text: string, values: readonly unknown[]) => Promise<boolean>;
};

export class LostLanes {
  readonly #parts: LostLanesParts;
  /** The table that is looked through, and how far. */
  #table = 0;
  #last = '';
  #looking: Promise<void> | null = null;
  /** The dead that the newest look is for. */
  #lookedFor: readonly number[] = [];

  constructor(parts: LostLanesParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when all lanes of the dead are free, or cannot be made so now. Never rejects.
   * @param dead instances that are dead, and whose lanes may not be free; with none a page is looked
   *   at, unless a look goes on
   */
  look(dead: readonly number[]): Promise<void> {
    const before = this.#looking;
    if (before !== null && dead.every((id) => this.#lookedFor.includes(id))) return before;
    this.#lookedFor = dead;
    const looked = (before ?? Promise.resolve())
      .then(() => this.#look(dead))
      .catch(() => {})
      .finally(() => {
        if (this.#looking === looked) this.#looking = null;
      });
    this.#looking = looked;
    return looked;
  }

  async #look(dead: readonly number[]): Promise<void> {
    if (dead.length === 0) return void (await this.#next());
    this.#table = 0;
    this.#last = '';
    let isSound = true;
    for (let isOver = false; !isOver;) {
      const seen = await this.#next();
      isSound &&= seen.isSound;
      isOver = seen.isOver;
    }
    if (isSound) await this.#parts.write(buried, [dead]);
  }

  /** `isOver`: all tables were looked through. */
  async #next(): Promise<{ readonly isOver: boolean; readonly isSound: boolean }> {
    const { reads, free } = this.#parts;
    const found = await reads.ask({ text: pages[this.#table]!, values: [this.#last] });
    const lanes = found.filter(({ channel }) => channel !== null).map(laneOf);
    let isSound = true;
    for (let from = 0; from < lanes.length; from += lanesMax) {
      if (!(await free(lanes.slice(from, from + lanesMax)))) isSound = false;
    }
    const { last, rows } = found.find(({ channel }) => channel === null)!;
    this.#last = Number(rows) < rowsMax ? '' : String(last);
    const isOver = this.#last === '' && this.#table === pages.length - 1;
    if (this.#last === '') this.#table = (this.#table + 1) % pages.length;
    return { isOver, isSound };
  }
}

function laneOf({ channel, conversation }: Rows[number]): LostLane {
  return { channel: String(channel), conversation: String(conversation) };
}
