/**
 * The connection by which an instance tells the others of itself. Each statement is asked once, and
 * rejects where it has no answer in time: what it would have told is told anew soon. It is opened
 * by the first statement, and ended when there was none for a while.
 *
 * none → opening → open → none. Where it could not be opened it is not tried again for a second.
 */
import type { Client } from 'pg';
import { cut } from '../server/connect.ts';
import { faultOf } from '../server/errors.ts';
import type { Rows } from '../write/statement.ts';

export type ViewTimes = {
  /** How long a statement may take, the opening of the connection included. */
  readonly answerMs: number;
  /** How long the connection is kept when nothing is asked. */
  readonly restMs: number;
  readonly againMs: number;
};

export const viewTimes: ViewTimes = { answerMs: 5_000, restMs: 60_000, againMs: 1_000 };

export class ViewConnection implements AsyncDisposable {
  readonly #connect: (signal: AbortSignal) => Promise<Client>;
  readonly #times: ViewTimes;
  readonly #closing = new AbortController();
  #client: Promise<Client> | null = null;
  /** Ends the connection that nobody asks. */
  #rest: NodeJS.Timeout | null = null;
  #atWork = 0;

  /** @param connect opens a connection, which is ended here */
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
      // What is no primary any more, or will not answer again, is not asked again.
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

  /** One that comes too late is cut as well. One that could not be opened is forgotten later. */
  #drop(opening: Promise<Client>): void {
    const dropped = (client: Client): void => {
      this.#forget(opening);
      cut(client);
    };
    opening.then(dropped, () => {});
  }

  /** Gives up what is being opened. */
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
