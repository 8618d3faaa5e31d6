/**
 * The connection on which the shared configuration is read and written: opened when it is first
 * needed, kept, and opened anew when it is lost. It has one transaction at a time, each short, so
 * that a process that stops in the middle holds up nobody for long.
 */
import type { Client } from 'pg';
import { OneAtATime } from '../../../lib/one-at-a-time.ts';
import { ConfigsFailed } from '../../../cluster/shared-configs.ts';
import { wireValue, type Ask } from '../read/ask.ts';
import { cut } from '../server/connect.ts';
import { codeOf, faultOf } from '../server/errors.ts';

export type TransactionLimits = {
  /** How long one may take, the opening of the connection included. */
  readonly withinMs: number;
};

const limitsUsual: TransactionLimits = { withinMs: 8_000 };
/** How long a server may take to end a connection that is ended in order. */
const endMs = 1_000;

/** Where a role or a database says otherwise, what waits here must still end. */
const beginning =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '5s'; " +
  "SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '3s'";

export class Transactions {
  readonly #connect: () => Promise<Client>;
  readonly #limits: TransactionLimits;
  readonly #turns = new OneAtATime();
  #client: Client | null = null;
  #closed = false;

  /** @param connect opens a connection, which is ended here */
  constructor(connect: () => Promise<Client>, limits: Partial<TransactionLimits> = {}) {
    this.#connect = connect;
    this.#limits = { ...limitsUsual, ...limits };
  }

  /**
   * Commits what `act` does; where it throws, nothing of it is done. Where the answer to the commit
   * is lost, it may have been done all the same.
   * @param act may ask without waiting; it runs once
   * @throws ConfigsFailed, and what `act` throws beside what the server says
   */
  do<T>(act: (ask: Ask) => Promise<T>): Promise<T> {
    return this.#turns.do(async () => {
      if (this.#closed) throw closed();
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(away('it took too long')), this.#limits.withinMs);
      const done = this.#do(act);
      try {
        return await Promise.race([done, late.promise]);
      } catch (error) {
        if (error instanceof ConfigsFailed && error.reason === 'away') this.#drop();
        await done.catch(() => {});
        throw error;
      } finally {
        clearTimeout(timer);
      }
    });
  }

  /** What is under way is ended first. */
  async close(): Promise<void> {
    await this.#turns.do(async () => {
      this.#closed = true;
      const client = this.#client;
      this.#client = null;
      if (client === null) return;
      const timer = setTimeout(() => cut(client), endMs);
      await client.end().catch(() => {});
      clearTimeout(timer);
    });
  }

  async #do<T>(act: (ask: Ask) => Promise<T>): Promise<T> {
    const client = await this.#begun();
    const ask: Ask = async (text, ...values) => {
      const { rows } = await client.query(text, values.map(wireValue));
      return rows as never;
    };
    try {
      const result = await act(ask);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      if (codeOf(error) === '' && faultOf(error) !== 'away') {
        await client.query('ROLLBACK').catch(() => {});
        throw error;
      }
      throw away(codeOf(error), error);
    }
  }

  /** One that was lost while nobody asked is found to be so here, where nothing was sent yet. */
  async #begun(): Promise<Client> {
    const open = this.#client;
    if (open !== null) {
      try {
        await open.query(beginning);
        return open;
      } catch {
        this.#drop();
      }
    }
    try {
      const client = await this.#connect();
      const lose = (): void => void (this.#client === client && (this.#client = null));
      client.on('error', lose);
      client.on('end', lose);
      this.#client = client;
      await client.query(beginning);
      return client;
    } catch (error) {
      throw away(codeOf(error), error);
    }
  }

  #drop(): void {
    if (this.#client !== null) cut(this.#client);
    this.#client = null;
  }
}

function away(why: string, cause?: unknown): ConfigsFailed {
  const because = why === '' ? '' : ` (${why})`;
  const message = `The database server does not answer as it should${because}.`;
  return Object.assign(new ConfigsFailed('away', message), cause === undefined ? {} : { cause });
}

function closed(): ConfigsFailed {
  return new ConfigsFailed('closed', 'The service is stopping.');
}
