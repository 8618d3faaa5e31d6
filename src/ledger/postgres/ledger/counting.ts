/**
 * Counts over all instances: unsettled messages and dead letters. A slow count runs rarely, so
 * counting is never a large part of the work of the server.
 */
import type { SteadyTime } from '../../../lib/clock.ts';
import { wholeIdLength } from '../../engine/queue.ts';
import type { Reads } from '../deps.ts';

const everyMs = 1_000;
/** Counting takes at most one part in so many of the time. */
const oneIn = 50;

const unsettled = `
SELECT (SELECT count(*) FROM svc.inbox) + (SELECT count(DISTINCT message_id) FROM svc.outbox
    WHERE NOT EXISTS (SELECT FROM svc.inbox WHERE id = message_id)) AS messages,
  (SELECT coalesce(sum(length(body)), 0) FROM svc.inbox)
    + (SELECT coalesce(sum(length(body)), 0) FROM svc.outbox) AS bytes`;
/** Reads pages by the id, so the server uses only the index of dead rows. A reply counts once. */
const letters = (table: string): string => `
SELECT count(DISTINCT left(id, ${wholeIdLength})) AS letters, count(*) AS rows, max(id) AS last
FROM (
  SELECT id FROM svc.${table} WHERE failure IS NOT NULL AND id > $1 ORDER BY id LIMIT $2
) AS page`;
const pageRows = 5_000;

type Counted = {
  /** Unsettled messages, and the approximate bytes of these and their replies. */
  readonly messages: number;
  readonly bytes: number;
  readonly letters: number;
};

/** The work of this instance, and the callback for the counts. */
export type CountingFor = {
  /** The messages in the working set of this instance, and their bytes. */
  readonly held: () => { readonly messages: number; readonly bytes: number };
  /** Whether there may be work outside of the working set of this instance. */
  readonly isPartial: () => boolean;
  /** Whether other instances are alive. */
  readonly hasOthers: () => boolean;
  /** Gets the number of dead letters; null: the number that this instance knows. */
  readonly lettersCounted: (letters: number | null) => void;
};

const nothing = { messages: 0, bytes: 0 };

export class Counting {
  readonly #reads: Reads;
  readonly #steady: () => SteadyTime;
  #nextAt: number = -Infinity;
  #isUnderWay = false;
  /** The work outside of the working set of this instance, as of the last count. */
  elsewhere: { readonly messages: number; readonly bytes: number } = nothing;

  constructor(reads: Reads, steady: () => SteadyTime) {
    this.#reads = reads;
    this.#steady = steady;
  }

  /** Counts if it is time and other instances may have work. Never rejects. */
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

  /** @returns null when it is not time yet, or when the server does not answer */
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
      this.#nextAt = this.#steady() + Math.max(everyMs, oneIn * (this.#steady() - begunAt));
    }
  }

  async #letters(table: string): Promise<number> {
    for (let counted = 0, after = ''; ;) {
      const [page] = await this.#reads.ask({ text: letters(table), values: [after, pageRows] });
      counted += Number(page!['letters']);
      if (Number(page!['rows']) < pageRows) return counted;
      // This sorts after all parts of that reply.
      after = `${String(page!['last']).slice(0, wholeIdLength)}.`;
    }
  }
}
