/**
 * The connection that writes. A batch is one transaction, sent in one go: fence, statements,
 * commit. The fence increments the batch number in the row of this instance.
 *
 * When the answer to a commit is lost, the writer connects again and reads that number. If the
 * batch is not committed, the writer skips its number. So that batch can never be committed later,
 * when its writes have been changed.
 */
import type { Client } from 'pg';
import { endedClean } from '../ledger/instance.ts';
import { cut, sendTogether } from '../server/connect.ts';
import { faultOf, firstOf } from '../server/errors.ts';
import type { Query, Rows, Statement } from './statement.ts';

/**
 * The outcome of a batch.
 *
 * - `landed`: committed. `behind`: the answers to the trailing transaction; null: unknown.
 * - `undone`: not committed, and it never will be; the caller may send it again. `why` is the error
 *   of the server; null: the connection was lost.
 * - `conflict`: undone, since a statement expected another value of a cursor.
 */
export type Outcome =
  | {
      readonly kind: 'landed';
      readonly answers: readonly Rows[];
      readonly behind: readonly Rows[] | null;
    }
  | { readonly kind: 'undone'; readonly why: Error | null }
  | { readonly kind: 'full' | 'closed' | 'conflict' }
  | { readonly kind: 'failed'; readonly error: Error };

export type WriterDeps = {
  readonly instance: number;
  /** @throws when no host takes writes now */
  readonly connect: () => Promise<Client>;
  /** The writer gives up a connection after so long without an answer, and reads the number. */
  readonly answerMs: number;
  /** The number of the last committed batch; absent: there is none. */
  readonly landed?: number;
};

const pauseMsMin = 100;
const pauseMsMax = 2_000;

/**
 * The timeouts keep any transaction from holding a row forever. They are `SET LOCAL`, since a
 * pooler keeps no other setting. They are shorter than `answerMs`, so the writer hears that its
 * batch is undone before it gives up the connection.
 */
const begin =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '10s'; " +
  "SET LOCAL lock_timeout = '5s'; " +
  "SET LOCAL idle_in_transaction_session_timeout = '3s'";
/** For releases: the owner finds a queue again if a crash of the server undoes its release. */
const beginUnsynced = `${begin}; SET LOCAL synchronous_commit = off`;

/**
 * The trailing transaction: it is sent together with a batch and runs after it. It may lock queues
 * in any order, because its statements never wait for a lock. So instances cannot deadlock.
 */
export type TrailingStatements = {
  readonly asked: readonly Query[];
  /** True: it takes queues, so it is fenced and synced. False: it only releases queues. */
  readonly takes: boolean;
};

const nothingTrailing: TrailingStatements = { asked: [], takes: false };

/** Divides by zero unless the instance is alive and this is the next batch in its row. */
const fence =
  'WITH mine AS (UPDATE svc.instance SET grp = $2, beat_at = clock_timestamp() ' +
  'WHERE id = $1 AND NOT dead AND grp = $2::bigint - 1 RETURNING 1) SELECT 1 / count(*) FROM mine';

/**
 * Waits for the end of the transaction on the lost connection. It returns `$2` if the batch is
 * committed, and `$2` + 1 if the batch never will be.
 */
const settleNumber =
  'UPDATE svc.instance SET grp = CASE grp WHEN $2::bigint - 1 THEN $2::bigint + 1 ELSE grp END ' +
  'WHERE id = $1 AND NOT dead RETURNING grp';

/** Holds a lock on the row, so that no other instance can declare this one dead meanwhile. */
const fenceTrailing =
  'SELECT 1 / count(*) FROM (SELECT 1 FROM svc.instance ' +
  'WHERE id = $1 AND NOT dead AND grp = $2 FOR SHARE) AS mine';

const readNumber = 'SELECT grp FROM svc.instance WHERE id = $1 AND NOT dead';

export class Writer {
  readonly #deps: WriterDeps;
  #client: Client | null;
  /** The number of the last committed batch, or of a skipped one after it. */
  #landed: number;
  #closed = false;
  #wake: () => void = () => {};

  /** @param client outside of a transaction */
  constructor(client: Client, deps: WriterDeps) {
    this.#deps = deps;
    this.#client = client;
    this.#landed = deps.landed ?? 0;
  }

  /** Sends one batch. Call it only after the outcome of the batch before. */
  async writeBatch(
    statements: readonly Statement[],
    behind: TrailingStatements = nothingTrailing,
  ): Promise<Outcome> {
    const client = this.#client ?? (await this.#connect());
    if (client === null) return { kind: 'closed' };
    this.#client = client;
    const number = this.#landed + 1;
    const { instance } = this.#deps;
    const batch = [{ text: fence, values: [instance, number] }, ...statements];
    const [sent, after] = await this.#sendBoth(client, batch, number, behind);
    if (sent.kind === 'answered') {
      this.#landed = number;
      return { kind: 'landed', answers: sent.answers.slice(1), behind: after };
    }
    const fault = faultOf(sent.error);
    if (fault === 'away') return this.#settle(number, statements);
    if (fault === 'again') return { kind: 'undone', why: sent.error };
    if (fault === 'full' || fault === 'conflict') return { kind: fault };
    return failed(fault === 'fenced' ? await this.#whyFenced(client, sent.error) : sent.error);
  }

  /**
   * Sends releases without a batch. Call it only after the outcome of the batch before.
   * @returns the answers; null: nobody knows whether the releases are committed
   */
  async release(asked: readonly Query[]): Promise<readonly Rows[] | null> {
    const client = this.#client ?? (await this.#connect());
    if (client === null) return null;
    this.#client = client;
    const sent = await this.#send(client, asked, beginUnsynced);
    return sent.kind === 'answered' ? sent.answers : null;
  }

  /** Marks an orderly end, so that the next start need not wait, and closes the connection. */
  async end(): Promise<void> {
    const { instance } = this.#deps;
    const client = this.#client;
    if (client !== null) {
      await client.query(endedClean.text, [...endedClean.values(instance)]);
      this.#closed = true;
      await client.end();
    }
    this.close();
  }

  /** Ends at once, and gives up a batch that is on its way. */
  close(): void {
    this.#closed = true;
    this.#drop();
    this.#wake();
  }

  /** The answer to a batch was lost: finds out whether the batch is committed. */
  async #settle(number: number, statements: readonly Statement[]): Promise<Outcome> {
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      this.#drop();
      const client = await this.#connect();
      if (client === null) return { kind: 'closed' };
      this.#client = client;
      const outcome = await this.#settleOn(client, number, statements);
      if (outcome.kind !== 'failed' || !mayPass(outcome.error)) return outcome;
      await this.#pause(pauseMs);
    }
  }

  async #settleOn(
    client: Client,
    number: number,
    statements: readonly Statement[],
  ): Promise<Outcome> {
    const values = [this.#deps.instance, number];
    const answer = await this.#send(client, [{ text: settleNumber, values }]);
    if (answer.kind === 'failed') return failed(answer.error);
    const [row] = answer.answers[0]!;
    if (row === undefined) return failed(fenced());
    const stored = Number(row['grp']);
    if (stored === number + 1) {
      this.#landed = stored;
      return { kind: 'undone', why: null };
    }
    if (stored !== number) return failed(setBack());
    const repeated = await this.#send(client, statements.map(againOf));
    if (repeated.kind === 'failed') return failed(repeated.error);
    this.#landed = number;
    const answers = repeated.answers.map((rows, at) => {
      return statements[at]!.again === undefined ? [] : rows;
    });
    return { kind: 'landed', answers, behind: null };
  }

  /** @param error a division by zero, of the fence or of another statement */
  async #whyFenced(client: Client, error: Error): Promise<Error> {
    const own = await this.#send(client, [{ text: readNumber, values: [this.#deps.instance] }]);
    if (own.kind === 'failed') return fenced();
    const [row] = own.answers[0]!;
    if (row === undefined) return fenced();
    return Number(row['grp']) === this.#landed ? error : setBack();
  }

  /** Sends a batch and its trailing transaction in one go. */
  async #sendBoth(
    client: Client,
    batch: readonly Query[],
    number: number,
    { asked, takes }: TrailingStatements,
  ): Promise<readonly [Sent, readonly Rows[] | null]> {
    if (asked.length === 0) return [await this.#send(client, batch), []];
    const own = { text: fenceTrailing, values: [this.#deps.instance, number] };
    const both = sendTogether(client, () => [
      this.#send(client, batch),
      this.#send(client, takes ? [own, ...asked] : asked, takes ? begin : beginUnsynced),
    ]);
    const [first, second] = (await Promise.all(both)) as [Sent, Sent];
    if (second.kind === 'failed') return [first, null];
    return [first, takes ? second.answers.slice(1) : second.answers];
  }

  /** Sends one transaction in one go. Never rejects. */
  async #send(client: Client, asked: readonly Query[], begun = begin): Promise<Sent> {
    const late = setTimeout(() => cut(client), this.#deps.answerMs);
    const all = await Promise.allSettled(
      sendTogether(client, () => [
        client.query(begun),
        ...asked.map(({ text, values }) => client.query(text, [...values])),
        client.query('COMMIT'),
      ]),
    );
    clearTimeout(late);
    const errors = all.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    if (errors.length > 0) return { kind: 'failed', error: asError(firstOf(errors)) };
    const results = all.map((one) => (one as PromiseFulfilledResult<{ rows: Rows }>).value);
    return { kind: 'answered', answers: results.slice(1, -1).map(({ rows }) => rows) };
  }

  /** Tries until there is a connection. @returns null after `close` */
  async #connect(): Promise<Client | null> {
    for (let pauseMs = pauseMsMin; !this.#closed; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        const client = await this.#deps.connect();
        if (!this.#closed) return client;
        cut(client);
      } catch {
        await this.#pause(pauseMs);
      }
    }
    return null;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #drop(): void {
    if (this.#client !== null) cut(this.#client);
    this.#client = null;
  }
}

/** The reason why a batch was given up without a commit. */
export function errorOf(outcome: Outcome): Error {
  if (outcome.kind === 'failed') return outcome.error;
  return (outcome.kind === 'undone' ? outcome.why : null) ?? new Error('it is closed');
}

type Sent =
  | { readonly kind: 'answered'; readonly answers: readonly Rows[] }
  | { readonly kind: 'failed'; readonly error: Error };

function againOf({ again }: Statement): Query {
  return again ?? { text: 'SELECT 1', values: [] };
}

function mayPass(error: Error): boolean {
  const fault = faultOf(error);
  return fault === 'away' || fault === 'again' || fault === 'full';
}

function failed(error: Error): Outcome {
  return { kind: 'failed', error };
}

function fenced(): Error {
  return new Error('another instance of svc has taken over its database');
}

/** The server was restored to an earlier state, or a standby without the last commit took over. */
function setBack(): Error {
  return new Error('the database has lost what it had said was written');
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
