/**
 * The connection for what people ask: opened by the first read, and ended when nobody has asked for
 * a while. It has one question at a time, in a transaction that only reads, so that no read holds
 * up a message, and all that one answer tells was true at one moment. The others wait here, up to a
 * limit.
 *
 * none → asked → resting → asked … → none. A connection that is lost takes the question at hand
 * with it, unless it was lost while it rested: then the question is asked once more on a new one.
 * Where the server cannot be reached, all that wait are refused, and the next read tries again.
 */
import type { Socket } from 'node:net';
import type { Client } from 'pg';
import { Queue } from '../../../lib/queue.ts';
import { ReadFailed } from '../../ledger.ts';
import { wireValue, type Ask } from './lists.ts';
import { codeOf, faultOf } from '../server/errors.ts';

export type ReaderLimits = {
  /** How long one read may take, the opening of the connection included. */
  readonly readMs: number;
  /** How long the server may take to be connected to. */
  readonly connectMs: number;
  /** How long the connection is kept when nobody asks. */
  readonly restMs: number;
  readonly waitingMax: number;
};

export const readerLimits: ReaderLimits = {
  readMs: 10_000,
  connectMs: 5_000,
  restMs: 60_000,
  waitingMax: 64,
};

/** How long a server may take to end a connection that is ended in order. */
const endMs = 1_000;

type Read = {
  /** Asks within a transaction, and answers who asked. */
  readonly run: (ask: Ask) => Promise<void>;
  readonly failed: (error: ReadFailed) => void;
};

export class PeopleConnection {
  readonly #connect: () => Promise<Client>;
  readonly #limits: ReaderLimits;
  readonly #waiting = new Queue<Read>();
  #client: Client | null = null;
  /** Ends the connection that nobody asks. */
  #rest: NodeJS.Timeout | null = null;
  /** Resolves when nothing is at hand and nothing waits. */
  #working: Promise<void> | null = null;
  #giveUp: (error: ReadFailed) => void = () => {};
  /** Resolves when every connection that was ended is gone. */
  #ended: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param connect opens a connection, which is ended here */
  constructor(connect: () => Promise<Client>, limits: Partial<ReaderLimits> = {}) {
    this.#connect = connect;
    this.#limits = { ...readerLimits, ...limits };
  }

  /**
   * @param look asks for what it needs, all of one moment; it may run twice
   * @returns what `look` returned; rejects with ReadFailed
   */
  read<Answer>(look: (ask: Ask) => Promise<Answer>): Promise<Answer> {
    if (this.#closed) return Promise.reject(stopping());
    const { waitingMax } = this.#limits;
    if (this.#waiting.length >= waitingMax) {
      const message = `${waitingMax} reads wait already; ask again in a moment.`;
      return Promise.reject(new ReadFailed('busy', message));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ run: async (ask) => resolve(await look(ask)), failed: reject });
    this.#working ??= this.#work();
    return promise;
  }

  /** Rejects every question that has no answer yet. */
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
      // Where the server cannot be reached, they would wait as long, and in vain.
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

  /** @returns why there is no answer; null: it has been given */
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
      // Where this fails, the connection is lost, which the next read finds.
      client.query('ROLLBACK').catch(() => {});
    }
  }

  /** One that comes too late is ended. */
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

  /** Where the server does not end it in time, it is cut. */
  #end(client: Client): void {
    const timer = setTimeout(() => streamOf(client).destroy(), endMs);
    const ended = client.end().catch(() => {});
    this.#ended = Promise.all([this.#ended, ended.then(() => clearTimeout(timer))]);
  }
}

/** The client's types do not tell it. */
function streamOf(client: Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
    .stream;
}

/**
 * Begins what is read: all of one moment. Every list goes by an index, and ends soon; without what
 * the server may know of a table, it would rather read and sort the whole of it.
 */
export function beginning(readMs: number): string {
  return (
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ' +
    `SET LOCAL statement_timeout = ${readMs}; SET LOCAL jit = off; ` +
    'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off'
  );
}

// Why a read has no answer, as a sentence for a person.

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

/** @param error what connecting threw */
function serverAway(error: unknown): ReadFailed {
  const code = codeOf(error);
  const why = code === '' ? '' : ` (${code})`;
  const message = `The PostgreSQL server cannot be reached${why}; ask again once it can be.`;
  return new ReadFailed('storage', message);
}

/** @param error what a statement threw */
function readFailure(error: unknown, readMs: number): ReadFailed {
  const code = codeOf(error);
  if (code === canceled) return tooSlow(readMs);
  if (faultOf(error) === 'away') return lostConnection;
  const why = code === '' ? '' : ` (${code})`;
  return new ReadFailed('storage', `The PostgreSQL server could not answer${why}.`);
}

/** A statement that took too long, by the server's own clock. */
const canceled = '57014';
