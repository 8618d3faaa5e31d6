/**
 * Reads all unsettled rows of all instances, one page at a time, and returns the queues of a page
 * that meet a condition. First come the pages of the inbox, then those of the outbox.
 */
import type { Reads } from '../deps.ts';
import type { Rows } from '../write/statement.ts';

/** The most rows of one page. */
const rowsMax = 2_000;

export type QueueName = { readonly channel: string; readonly conversation: string };

type Page = {
  readonly queues: readonly QueueName[];
  /** The next page is the first one again. */
  readonly isLast: boolean;
};

/**
 * @param runs SQL: whether an instance can work the row now, without waiting for its due time
 * @param which SQL: the condition for a queue, over the row as `seen` and its queue as `lane`
 * @param until SQL: a further condition for the rows of a page; '' takes all rows after `$1`
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
  /** The place of the present table in `#texts`, and the last id that was read of it. */
  #table = 0;
  #last = '';

  /** `which` and `until` as for `pageOf`; the values of `next` are $2 and following. */
  constructor(reads: Reads, which: string, until = '') {
    this.#reads = reads;
    this.#texts = [
      pageOf('inbox', 'true', which, until),
      pageOf('outbox', 'NOT parked', which, until),
    ];
  }

  /** Goes back to the first page. */
  begin(): void {
    this.#table = 0;
    this.#last = '';
  }

  /** Reads one page. @throws when the connection fails for good */
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
