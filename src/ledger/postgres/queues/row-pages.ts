/** Looks through all unsettled rows, a page at a time, for lanes of which something is so. */
import type { Reads } from '../deps.ts';
import type { Rows } from '../write/statement.ts';

/** So many rows are looked at in one go. */
const rowsMax = 2_000;

export type QueueName = { readonly channel: string; readonly conversation: string };

export type Page = {
  readonly queues: readonly QueueName[];
  /** It was the last one, and the next is the first again. */
  readonly isLast: boolean;
};

/**
 * @param runs whether a row is one that is worked without waiting for its time
 * @param which of the rows that come after $1: `seen`, with their `lane`
 * @param until of which rows the pages are; left out: of all
 */
function pageOf(table: string, runs: string, which: string, until: string): string {
  return `
WITH seen AS (
  SELECT id, channel, conversation, ${runs} AS runs FROM svc.${table}
  WHERE id > $1${until} ORDER BY id LIMIT ${rowsMax}
)
SELECT DISTINCT channel, conversation, NULL AS last, 0 AS rows FROM seen CROSS JOIN LATERAL (
  SELECT owner, waits FROM svc.lane
  WHERE channel = seen.channel AND conversation = seen.conversation OFFSET 0
) AS lane WHERE ${which}
UNION ALL SELECT NULL, NULL, max(id), count(*)::int FROM seen`;
}

export class RowPages {
  readonly #reads: Reads;
  readonly #texts: readonly string[];
  /** The table that is looked through, and how far. */
  #table = 0;
  #last = '';

  /** As `pageOf` has them; values count from $2. */
  constructor(reads: Reads, which: string, until = '') {
    this.#reads = reads;
    this.#texts = [
      pageOf('inbox', 'true', which, until),
      pageOf('outbox', 'NOT parked', which, until),
    ];
  }

  /** The next page is the first. */
  begin(): void {
    this.#table = 0;
    this.#last = '';
  }

  async next(...values: readonly unknown[]): Promise<Page> {
    const text = this.#texts[this.#table]!;
    const found = await this.#reads.ask({ text, values: [this.#last, ...values] });
    const { last, rows } = found.find(({ channel }) => channel === null)!;
    this.#last = Number(rows) < rowsMax ? '' : String(last);
    const isLast = this.#last === '' && this.#table === this.#texts.length - 1;
    if (this.#last === '') this.#table = (this.#table + 1) % this.#texts.length;
    return { queues: found.filter(({ channel }) => channel !== null).map(nameOf), isLast };
  }
}

function nameOf({ channel, conversation }: Rows[number]): QueueName {
  return { channel: String(channel), conversation: String(conversation) };
}
