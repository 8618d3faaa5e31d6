/**
 * The connection for the reads of people. The first read opens it; it closes after a while without
 * reads. It runs one read at a time, each in a read-only transaction. So no read delays a message,
 * and all facts of one answer are of the same moment. Further reads wait here, up to a limit.
 *
 * States: none → reading → resting → reading … → none. If the connection is lost during a read, the
 * read fails. If it was lost while resting, the read runs once more on a new connection. If the
 * server cannot be reached, all waiting reads are refused, and the next read connects again.
 */
import type { Socket } from 'node:net';
import type { Client } from 'pg';
import { Queue } from '../../../lib/queue.ts';
import { ReadFailed } from '../../ledger.ts';
import { wireValue, type Ask } from './lists.ts';
import { codeOf, faultOf } from '../server/errors.ts';

export type ReaderLimits = {
  /** How long one read may take, including the opening of the connection. */
  readonly readMs: number;
  /** How long the connect may take. */
  readonly connectMs: number;
  /** How long the connection stays open without reads. */
  readonly restMs: number;
  /** The most reads that wait. */
  readonly waitingMax: number;
};

export const readerLimits: ReaderLimits = {
  readMs: 10_000,
  connectMs: 5_000,
  restMs: 60_000,
  waitingMax: 64,
};

/** How long the server may take for an orderly end of a connection. */
const endMs = 1_000;

type Read = {
  /** Runs the queries within a transaction, and gives the answer to the caller. */
  readonly run: (ask: Ask) => Promise<void>;
  readonly failed: (error: ReadFailed) => void;
};

export class PeopleConnection {
  readonly #connect: () => Promise<Client>;
  readonly #limits: ReaderLimits;
  readonly #waiting = new Queue<Read>();
  #client: Client | null = null;
  /** Closes the resting connection. */
  #rest: NodeJS.Timeout | null = null;
  /** Resolves when no read runs and none waits. */
  #working: Promise<void> | null = null;
  #giveUp: (error: ReadFailed) => void = () => {};
  /** Resolves when all ended connections are closed. */
  #ended: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param connect opens a connection; this class closes it */
  constructor(connect: () => Promise<Client>, limits: Partial<ReaderLimits> = {}) {
    this.#connect = connect;
    this.#limits = { ...readerLimits, ...limits };
  }

  /**
   * Runs a read.
   * @param runQueries makes all queries in one transaction; it may be called twice
   * @returns the result of `runQueries`
   * @throws {ReadFailed} when there is no answer
   */
  read<Answer>(runQueries: (ask: Ask) => Promise<Answer>): Promise<Answer> {
    if (this.#closed) return Promise.reject(stopping());
    const { waitingMax } = this.#limits;
    if (this.#waiting.length >= waitingMax) {
      const message = `${waitingMax} reads wait already; ask again in a moment.`;
      return Promise.reject(new ReadFailed('busy', message));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ run: async (ask) => resolve(await runQueries(ask)), failed: reject });
    this.#working ??= this.#work();
    return promise;
  }

  /** Closes, and rejects every read that has no answer yet. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#refuseWaiting(stopping());
    this.#giveUp(stopping());
    await this.#working;
    this.#drop();
    await this.#ended;
  }

  async #work(): Promise<void> {
    if (this.#rest !== null) clearTimeout(this.#rest);
    if (this.#client !== null) streamOf(this.#client).ref();
    for (let read = this.#waiting.shift(); read !== undefined; read = this.#waiting.shift()) {
      const error = await this.#answer(read);
      if (error === null) continue;
      read.failed(error);
      // If the server cannot be reached, the other reads would wait as long, and fail too.
      const isAway = this.#client === null && error !== lostConnection;
      if (isAway && error.reason === 'storage') this.#refuseWaiting(error);
    }
    this.#working = null;
    if (this.#client === null) return;
    streamOf(this.#client).unref();
    this.#rest = setTimeout(() => this.#drop(), this.#limits.restMs).unref();
  }

  #refuseWaiting(error: ReadFailed): void {
    for (let read = this.#waiting.shift(); read !== undefined; read = this.#waiting.shift()) {
      read.failed(error);
    }
  }

  /** @returns the error of the read; null: it got its answer */
  async #answer(read: Read): Promise<ReadFailed | null> {
    const { promise: givenUp, resolve } = Promise.withResolvers<ReadFailed>();
    const { readMs } = this.#limits;
    const timer = setTimeout(() => resolve(tooSlow(readMs)), readMs);
    this.#giveUp = resolve;
    const ended = await Promise.race([this.#run(read), givenUp.then((error) => ({ error }))]);
    clearTimeout(timer);
    this.#giveUp = () => {};
    if (ended === null || ended instanceof ReadFailed) return ended;
    if (this.#client !== null) streamOf(this.#client).destroy();
    this.#drop();
    return ended.error;
  }

  async #run(read: Read): Promise<ReadFailed | null> {
    const rested = this.#client;
    const error = await this.#runOnce(read, rested);
    const isAgain = rested !== null && error === lostConnection && !this.#closed;
    return isAgain ? this.#runOnce(read, null) : error;
  }

  async #runOnce(read: Read, open: Client | null): Promise<ReadFailed | null> {
    let client: Client;
    try {
      client = open ?? (await this.#open());
    } catch (error) {
      return error instanceof ReadFailed ? error : serverAway(error);
    }
    const ask: Ask = async (text, ...values) => {
      const { rows } = await client.query(text, values.map(wireValue));
      return rows as never;
    };
    try {
      await Promise.all([client.query(beginning(this.#limits.readMs)), read.run(ask)]);
      return null;
    } catch (error) {
      const failed = readFailure(error, this.#limits.readMs);
      if (failed === lostConnection) this.#drop(client);
      return failed;
    } finally {
      // If this fails, the connection is lost, and the next read finds that.
      client.query('ROLLBACK').catch(() => {});
    }
  }

  /** Opens a connection. One that comes too late is closed. */
  async #open(): Promise<Client> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject({ code: 'ETIMEDOUT' }), this.#limits.connectMs);
    let isAwaited = true;
    const opened = this.#connect().then((client) => {
      const lose = (): void => void (this.#client === client && (this.#client = null));
      client.on('error', lose);
      client.on('end', lose);
      if (isAwaited && !this.#closed) return (this.#client = client);
      this.#end(client);
      throw stopping();
    });
    try {
      return await Promise.race([opened, late]);
    } finally {
      isAwaited = false;
      opened.catch(() => {});
      clearTimeout(timer);
    }
  }

  #drop(client: Client | null = this.#client): void {
    if (this.#client === client) this.#client = null;
    if (client !== null) this.#end(client);
  }

  /** Ends a connection; cuts it if the server does not end it in time. */
  #end(client: Client): void {
    const timer = setTimeout(() => streamOf(client).destroy(), endMs);
    const ended = client.end().catch(() => {});
    this.#ended = Promise.all([this.#ended, ended.then(() => clearTimeout(timer))]);
  }
}

/** The socket of a client; its types do not have it. */
function streamOf(client: Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
    .stream;
}

/**
 * SQL that begins a read: one snapshot, read-only. Every list uses an index and ends soon. Without
 * statistics of a table the planner would read and sort the whole of it, hence the settings.
 */
export function beginning(readMs: number): string {
  return (
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ' +
    `SET LOCAL statement_timeout = ${readMs}; SET LOCAL jit = off; ` +
    'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off'
  );
}

// The errors of reads, each with a sentence for a person.

/** The connection ended before the answer came. */
const lostConnection = new ReadFailed(
  'storage',
  'The connection to the PostgreSQL server was lost; ask again in a moment.',
);

function stopping(): ReadFailed {
  return new ReadFailed('closed', 'The service is stopping.');
}

function tooSlow(readMs: number): ReadFailed {
  return new ReadFailed('too_slow', `The read took longer than ${readMs / 1_000} s.`);
}

/** @param error the error of the connect */
function serverAway(error: unknown): ReadFailed {
  const code = codeOf(error);
  const why = code === '' ? '' : ` (${code})`;
  const message = `The PostgreSQL server cannot be reached${why}; ask again once it can be.`;
  return new ReadFailed('storage', message);
}

/** @param error the error of a statement */
function readFailure(error: unknown, readMs: number): ReadFailed {
  const code = codeOf(error);
  if (code === canceled) return tooSlow(readMs);
  if (faultOf(error) === 'away') return lostConnection;
  const why = code === '' ? '' : ` (${code})`;
  return new ReadFailed('storage', `The PostgreSQL server could not answer${why}.`);
}

/** SQLSTATE of a statement that took too long by the server's clock. */
const canceled = '57014';
