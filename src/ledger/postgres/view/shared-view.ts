/**
 * The shared view over PostgreSQL: reports and live events of instances, for people. Its tables are
 * unlogged, so a crash of the server empties them.
 */
import type { Client } from 'pg';
import type { RowsOfChannel } from '../../../cluster/cluster.ts';
import type { LiveEventBatch, SharedView, InstanceReport } from '../../../cluster/backend.ts';
import { cut } from '../server/connect.ts';
import { faultOf } from '../server/errors.ts';
import type { Rows } from '../write/statement.ts';

/** The most batches of live events that one read returns. */
const lotsMax = 64;

/** An instance that was declared dead, and does not know it yet, stores nothing. */
const publish =
  'INSERT INTO svc.instance_status (id, body) ' +
  'SELECT id, $2 FROM svc.instance WHERE id = $1 AND NOT dead ' +
  'ON CONFLICT (id) DO UPDATE SET at = clock_timestamp(), body = excluded.body';

const reports =
  'SELECT id AS instance, body AS report, ' +
  'floor(extract(epoch FROM clock_timestamp() - at) * 1000)::bigint AS "ageMs" ' +
  'FROM svc.instance_status ORDER BY id';

/** The most rows of each box that a count reads, which takes the server about 40 ms. */
const countedMax = 200_000;
/** Counts all rows: a free queue may have some, and so may a late instance. */
const rows =
  'SELECT channel AS key, sum(ins)::bigint AS inbox, sum(outs)::bigint AS outbox, ' +
  'min(oldest)::bigint AS "oldestAt", min(reply)::bigint AS "oldestReplyAt" FROM (' +
  'SELECT channel, count(*) AS ins, 0 AS outs, min(accepted_at) AS oldest, ' +
  'NULL::bigint AS reply FROM ' +
  `(SELECT channel, accepted_at FROM svc.inbox LIMIT ${countedMax}) AS inbox ` +
  'GROUP BY channel UNION ALL SELECT channel, 0, count(*), min(created_at), min(created_at) FROM ' +
  `(SELECT channel, created_at FROM svc.outbox LIMIT ${countedMax}) AS outbox ` +
  'GROUP BY channel) AS kept GROUP BY channel ORDER BY channel';

const tell = 'INSERT INTO svc.frame (instance, n, left_out, body) VALUES ($1, $2, $3, $4)';

const newest = 'SELECT instance, max(n) AS n FROM svc.frame GROUP BY instance';

const hear =
  'SELECT frame.instance, frame.n, frame.left_out AS "leftOut", frame.body AS frames ' +
  'FROM json_to_recordset($1) AS known (instance bigint, n bigint) ' +
  'JOIN svc.frame ON frame.instance = known.instance AND frame.n > known.n ' +
  `ORDER BY frame.instance, frame.n LIMIT ${lotsMax}`;

const sweepReports =
  'DELETE FROM svc.instance_status AS told WHERE NOT EXISTS ' +
  '(SELECT FROM svc.instance WHERE id = told.id AND NOT dead)';
const sweepFrames =
  "DELETE FROM svc.frame WHERE at < clock_timestamp() - interval '30 seconds' OR NOT EXISTS " +
  '(SELECT FROM svc.instance WHERE id = frame.instance AND NOT dead)';

export class PostgresView implements SharedView {
  readonly #connection: ViewConnection;

  /** @param connect opens a connection; called for the first statement, and after a lost one */
  constructor(connect: (signal: AbortSignal) => Promise<Client>) {
    this.#connection = new ViewConnection(connect);
  }

  async publish(instance: number, report: string): Promise<void> {
    await this.#connection.ask(publish, [instance, report]);
  }

  async readReports() {
    const [told, kept] = await Promise.all([
      this.#connection.ask(reports),
      this.#connection.ask(rows),
    ]);
    return {
      reports: told as readonly InstanceReport[],
      rows: kept as readonly RowsOfChannel[],
    };
  }

  async publishEvents({ instance, n, leftOut, frames }: LiveEventBatch): Promise<void> {
    await this.#connection.ask(tell, [instance, n, leftOut, frames]);
  }

  async newest(): Promise<ReadonlyMap<number, number>> {
    const found = await this.#connection.ask(newest);
    return new Map(found.map(({ instance, n }) => [instance as number, n as number]));
  }

  async readBatches(after: ReadonlyMap<number, number>): Promise<readonly LiveEventBatch[]> {
    const known = Array.from(after, ([instance, n]) => ({ instance, n }));
    return (await this.#connection.ask(hear, [JSON.stringify(known)])) as readonly LiveEventBatch[];
  }

  async sweep(): Promise<void> {
    await this.#connection.ask(sweepReports);
    await this.#connection.ask(sweepFrames);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#connection[Symbol.asyncDispose]();
  }
}

export type ViewTimes = {
  /** How long a statement may take, including the opening of the connection. */
  readonly answerMs: number;
  /** How long the connection stays open without statements. */
  readonly restMs: number;
  /** The pause after a connection that could not be opened. */
  readonly againMs: number;
};

export const viewTimes: ViewTimes = { answerMs: 5_000, restMs: 60_000, againMs: 1_000 };

/**
 * The connection of the shared view. A statement runs once, and rejects without an answer in time:
 * the next report or batch follows soon. The first statement opens the connection, and it closes
 * after a while without statements.
 *
 * States: none → opening → open → none. After a failed opening it waits `againMs` before the next.
 */
export class ViewConnection implements AsyncDisposable {
  readonly #connect: (signal: AbortSignal) => Promise<Client>;
  readonly #times: ViewTimes;
  readonly #closing = new AbortController();
  #client: Promise<Client> | null = null;
  /** Closes the resting connection. */
  #rest: NodeJS.Timeout | null = null;
  #atWork = 0;

  /** @param connect opens a connection; this class closes it */
  constructor(connect: (signal: AbortSignal) => Promise<Client>, times: Partial<ViewTimes> = {}) {
    this.#connect = connect;
    this.#times = { ...viewTimes, ...times };
  }

  async ask(text: string, values: readonly unknown[] = []): Promise<Rows> {
    this.#closing.signal.throwIfAborted();
    if (this.#rest !== null) clearTimeout(this.#rest);
    this.#rest = null;
    this.#atWork++;
    const opening = (this.#client ??= this.#open());
    const { answerMs, restMs } = this.#times;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new Error(`the server gave no answer within ${answerMs} ms`));
      this.#drop(opening);
    }, answerMs);
    try {
      return await Promise.race([askOn(opening, text, values), late]);
    } catch (error) {
      // The server is no primary any more, or does not answer: the next statement connects again.
      if (faultOf(error) === 'away') this.#drop(opening);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#atWork--;
      if (this.#atWork === 0 && this.#client === opening) {
        this.#rest = setTimeout(() => this.#drop(opening), restMs).unref();
      }
    }
  }

  #open(): Promise<Client> {
    const opening: Promise<Client> = this.#connect(this.#closing.signal).then((client) => {
      client.on('end', () => this.#forget(opening));
      return client;
    });
    opening.catch(() => {
      setTimeout(() => this.#forget(opening), this.#times.againMs).unref();
    });
    return opening;
  }

  #forget(opening: Promise<Client>): void {
    if (this.#client === opening) this.#client = null;
  }

  /** Cuts a connection, also one that opens too late. `#open` forgets one that fails. */
  #drop(opening: Promise<Client>): void {
    const dropped = (client: Client): void => {
      this.#forget(opening);
      cut(client);
    };
    opening.then(dropped, () => {});
  }

  /** Closes, and gives up a connection that is being opened. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the storage is closed'));
    if (this.#rest !== null) clearTimeout(this.#rest);
    if (this.#client !== null) this.#drop(this.#client);
  }
}

async function askOn(
  opening: Promise<Client>,
  text: string,
  values: readonly unknown[],
): Promise<Rows> {
  const client = await opening;
  return (await client.query<Record<string, unknown>>(text, [...values])).rows;
}
