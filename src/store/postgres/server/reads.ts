/** A connection that reads: it comes about when it is first asked, and again when it is lost. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Reads } from '../parts.ts';
import type { Asked, Rows } from '../write/statement.ts';
import { ConnectError, cut } from './connect.ts';
import { faultOf, type Fault } from './errors.ts';

/** Without an answer for so long a connection is given up. */
const answerMs = 60_000;
const pauseMs = 200;
const passing: ReadonlySet<Fault> = new Set<Fault>(['away', 'again', 'full']);

export class ServerReads implements Reads {
  readonly #connect: () => Promise<Client>;
  readonly #closing = new AbortController();
  #client: Promise<Client> | null = null;
  #wasConnected = false;

  /** @param connect rejects where no host answers now */
  constructor(connect: () => Promise<Client>) {
    this.#connect = connect;
  }

  /**
   * While the server is away, or its disk is full, this waits, and asks again.
   * @throws what the server says of the question, why a first connection cannot be had, and after
   *   the end
   */
  async ask(asked: Asked): Promise<Rows> {
    for (;;) {
      this.#closing.signal.throwIfAborted();
      try {
        return await this.#askOnce(asked);
      } catch (error) {
        this.#closing.signal.throwIfAborted();
        if (!this.#mayPass(error)) throw error;
        await pause(pauseMs, undefined, { signal: this.#closing.signal });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the storage is closed'));
    const client = await this.#client?.catch(() => null);
    if (client != null) cut(client);
  }

  /** A server in trouble refuses a connection with many a word. */
  #mayPass(error: unknown): boolean {
    const fault = faultOf(error);
    const isRefused = error instanceof ConnectError;
    if (isRefused || fault === 'away') this.#client = null;
    return (isRefused && this.#wasConnected) || passing.has(fault);
  }

  async #askOnce({ text, values }: Asked): Promise<Rows> {
    this.#client ??= this.#connect();
    const client = await this.#client;
    this.#wasConnected = true;
    const late = setTimeout(() => cut(client), answerMs);
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } finally {
      clearTimeout(late);
    }
  }
}
