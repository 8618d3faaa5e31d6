/** A connection that reads: it comes about when it is first asked, and again when it is lost. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { steadyNow } from '../../../lib/clock.ts';
import type { Reads } from '../deps.ts';
import type { Asked, Rows } from '../write/statement.ts';
import { ConnectError, cut } from './connect.ts';
import { faultOf, type Fault } from './errors.ts';

/** Without any answer for so long a connection is given up at last. */
const silentMsMax = 60_000;
const pauseMs = 200;
const passing: ReadonlySet<Fault> = new Set<Fault>(['away', 'again', 'full']);

/** Answers that are owed at the end are heard for so long. */
const endMs = 500;

/**
 * How many answers it owes, when it is given up for the want of one, and who is told that there is
 * no more to come.
 */
type Owing = { answers: number; late: NodeJS.Timeout | null; over: (() => void) | null };

export class ServerReads implements Reads {
  readonly #connect: () => Promise<Client>;
  readonly #closing = new AbortController();
  readonly #silentMsMin: number;
  /** Twice as long each time that it was too short. */
  #silentMs: number;
  readonly #owing = new WeakMap<Client, Owing>();
  #client: Promise<Client> | null = null;
  #wasConnected = false;

  /**
   * @param connect rejects where no host answers now
   * @param silentMs how long a connection may owe answers without giving one, at first
   */
  constructor(connect: () => Promise<Client>, silentMs: number) {
    this.#connect = connect;
    this.#silentMsMin = silentMs;
    this.#silentMs = silentMs;
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
    if (client == null) return;
    await this.#heard(client);
    cut(client);
  }

  /**
   * A pooler before the server may give whoever asks next what is answered to one that has gone.
   */
  async #heard(client: Client): Promise<void> {
    const owing = this.#owing.get(client);
    if (owing === undefined || owing.answers === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    owing.over = resolve;
    const late = setTimeout(resolve, endMs);
    await promise;
    clearTimeout(late);
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
    const owing = this.#watched(client);
    const askedAt = steadyNow();
    try {
      const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
      if (steadyNow() - askedAt < this.#silentMsMin) this.#silentMs = this.#silentMsMin;
      return rows;
    } finally {
      this.#answered(owing);
    }
  }

  /** A way that fell silent is not told from a slow server but by time. */
  #watched(client: Client): Owing {
    const owing = this.#owing.get(client) ?? { answers: 0, late: null, over: null };
    this.#owing.set(client, owing);
    owing.answers++;
    owing.late ??= setTimeout(() => {
      this.#silentMs = Math.min(2 * this.#silentMs, silentMsMax);
      cut(client);
    }, this.#silentMs);
    return owing;
  }

  #answered(owing: Owing): void {
    owing.answers--;
    if (owing.answers > 0) return void owing.late?.refresh();
    clearTimeout(owing.late ?? undefined);
    owing.late = null;
    owing.over?.();
  }
}
