/** A connection for reading. It opens at first use, and opens again when it is lost. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { steadyNow } from '../../../lib/clock.ts';
import type { Reads } from '../deps.ts';
import type { Query, Rows } from '../write/statement.ts';
import { ConnectError, cut } from './connect.ts';
import { faultOf, type Fault } from './errors.ts';

/** A connection without any answer for this long is given up in any case. */
const silentMsMax = 60_000;
const pauseMs = 200;
const passing: ReadonlySet<Fault> = new Set<Fault>(['away', 'again', 'full']);

/** At the end this waits so long for answers that are still missing. */
const endMs = 500;

/**
 * Per connection: how many answers are missing, the timer that gives it up, and a callback for when
 * none is missing any more.
 */
type PendingAnswers = { answers: number; late: NodeJS.Timeout | null; onLast: (() => void) | null };

export class ServerReads implements Reads {
  readonly #connect: () => Promise<Client>;
  readonly #closing = new AbortController();
  readonly #silentMsMin: number;
  /** Doubles each time that it was too short. */
  #silentMs: number;
  readonly #pending = new WeakMap<Client, PendingAnswers>();
  #client: Promise<Client> | null = null;
  #wasConnected = false;

  /**
   * @param connect rejects where no host answers now
   * @param silentMs how long a connection may leave questions without an answer, at first
   */
  constructor(connect: () => Promise<Client>, silentMs: number) {
    this.#connect = connect;
    this.#silentMsMin = silentMs;
    this.#silentMs = silentMs;
  }

  /**
   * While the server is away or its disk is full, this waits and asks again.
   * @throws the server's error, the reason why there is no first connection, or the close of this
   *   storage
   */
  async ask(asked: Query): Promise<Rows> {
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
    if (client == null) return;
    await this.#waitForAnswers(client);
    cut(client);
  }

  /**
   * A pooler in front of the server may give a late answer to the next client of the connection. So
   * this waits for the missing answers.
   */
  async #waitForAnswers(client: Client): Promise<void> {
    const pending = this.#pending.get(client);
    if (pending === undefined || pending.answers === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    pending.onLast = resolve;
    const late = setTimeout(resolve, endMs);
    await promise;
    clearTimeout(late);
  }

  /** A server in trouble refuses connections with various errors; all of them may pass. */
  #mayPass(error: unknown): boolean {
    const fault = faultOf(error);
    const isRefused = error instanceof ConnectError;
    if (isRefused || fault === 'away') this.#client = null;
    return (isRefused && this.#wasConnected) || passing.has(fault);
  }

  async #askOnce({ text, values }: Query): Promise<Rows> {
    this.#client ??= this.#connect();
    const client = await this.#client;
    this.#wasConnected = true;
    const pending = this.#watch(client);
    const askedAt = steadyNow();
    try {
      const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
      if (steadyNow() - askedAt < this.#silentMsMin) this.#silentMs = this.#silentMsMin;
      return rows;
    } finally {
      this.#countAnswer(pending);
    }
  }

  /** Only time tells a dead connection from a slow server. */
  #watch(client: Client): PendingAnswers {
    const pending = this.#pending.get(client) ?? { answers: 0, late: null, onLast: null };
    this.#pending.set(client, pending);
    pending.answers++;
    pending.late ??= setTimeout(() => {
      this.#silentMs = Math.min(2 * this.#silentMs, silentMsMax);
      cut(client);
    }, this.#silentMs);
    return pending;
  }

  #countAnswer(pending: PendingAnswers): void {
    pending.answers--;
    if (pending.answers > 0) return void pending.late?.refresh();
    clearTimeout(pending.late ?? undefined);
    pending.late = null;
    pending.onLast?.();
  }
}
