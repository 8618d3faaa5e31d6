/**
 * What all instances together have, counted now and then: how much is unsettled, and how many dead
 * letters there are. A count that takes long is made seldom, so that counting is never much of what
 * the server does.
 */
import type { SteadyTime } from '../../../lib/clock.ts';
import { wholeIdLength } from '../../engine/order/rows.ts';
import type { Reads } from '../deps.ts';

const everyMs = 1_000;
/** Of the time at most one part in so many goes into counting. */
const share = 50;

const unsettled = `
SELECT (SELECT count(*) FROM svc.inbox) + (SELECT count(DISTINCT message_id) FROM svc.outbox
    WHERE NOT EXISTS (SELECT FROM svc.inbox WHERE id = message_id)) AS messages,
  (SELECT coalesce(sum(length(body)), 0) FROM svc.inbox)
    + (SELECT coalesce(sum(length(body)), 0) FROM svc.outbox) AS bytes`;
/** In pages by the id, so that only the index of the dead is read. The parts of a reply are one. */
const letters = (table: string): string => `
SELECT count(DISTINCT left(id, ${wholeIdLength})) AS letters, count(*) AS rows, max(id) AS last
FROM (
  SELECT id FROM svc.${table} WHERE failure IS NOT NULL AND id > $1 ORDER BY id LIMIT $2
) AS page`;
const pageRows = 5_000;

type Counted = {
  /** Messages that are not settled, and roughly the bytes that they and their replies hold. */
  readonly messages: number;
  readonly bytes: number;
  readonly letters: number;
};

/** What this instance has in hand itself, and what it is to be told of all. */
export type CountingFor = {
  readonly held: () => { readonly messages: number; readonly bytes: number };
  /** Whether this instance may not have everything in hand. */
  readonly isPartial: () => boolean;
  /** Whether other instances live. */
  readonly hasOthers: () => boolean;
  /** Is told how many dead letters there are; null: as many as this instance knows of. */
  readonly lettersCounted: (letters: number | null) => void;
};

const nothing = { messages: 0, bytes: 0 };

export class Counting {
  readonly #reads: Reads;
  readonly #steady: () => SteadyTime;
  #nextAt: number = -Infinity;
  #isUnderWay = false;
  /** What this instance has not in hand, as of the last count. */
  elsewhere: { readonly messages: number; readonly bytes: number } = nothing;

  constructor(reads: Reads, steady: () => SteadyTime) {
    this.#reads = reads;
    this.#steady = steady;
  }

  /** Counts if it is time to, and there is something to count. Never rejects. */
  async count({ held, isPartial, hasOthers, lettersCounted }: CountingFor): Promise<void> {
    if (!hasOthers()) lettersCounted(null);
    if (!isPartial()) {
      this.elsewhere = nothing;
      return;
    }
    const own = held();
    const all = await this.#count();
    if (all === null) return;
    this.elsewhere = {
      messages: Math.max(0, all.messages - own.messages),
      bytes: Math.max(0, all.bytes - own.bytes),
    };
    if (hasOthers()) lettersCounted(all.letters);
  }

  /** @returns null: it is not time; also where the server cannot be asked */
  async #count(): Promise<Counted | null> {
    const begunAt = this.#steady();
    if (this.#isUnderWay || begunAt < this.#nextAt) return null;
    this.#isUnderWay = true;
    try {
      const [held] = await this.#reads.ask({ text: unsettled, values: [] });
      const dead = [await this.#letters('message'), await this.#letters('sent')];
      const { messages, bytes } = held!;
      return {
        messages: Number(messages),
        bytes: Number(bytes),
        letters: dead[0]! + dead[1]!,
      };
    } catch {
      return null;
    } finally {
      this.#isUnderWay = false;
      this.#nextAt = this.#steady() + Math.max(everyMs, share * (this.#steady() - begunAt));
    }
  }

  async #letters(table: string): Promise<number> {
    for (let counted = 0, after = ''; ;) {
      const [page] = await this.#reads.ask({ text: letters(table), values: [after, pageRows] });
      counted += Number(page!['letters']);
      if (Number(page!['rows']) < pageRows) return counted;
      // Behind all parts of that reply.
      after = `${String(page!['last']).slice(0, wholeIdLength)}.`;
    }
  }
}
