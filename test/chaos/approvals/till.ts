/** A server for approved calls: it counts each of them, and answers after a random time. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Moments } from './moments.ts';
import { keyOf, type OrderKey } from './orders.ts';

/** A call that arrived. */
export type Run = {
  readonly key: OrderKey;
  readonly idempotencyKey: string;
  /** Milliseconds since 1970, by the clock of this process. */
  readonly at: number;
};

/** The longest time between a call and its answer. */
const answerMs = 40;

export class Till implements AsyncDisposable {
  readonly runs: Run[] = [];
  readonly #server: Server;
  readonly #moments: Moments;
  readonly #random: () => number;

  private constructor(moments: Moments, random: () => number) {
    this.#moments = moments;
    this.#random = random;
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  static async open(moments: Moments, random: () => number): Promise<Till> {
    const till = new Till(moments, random);
    till.#server.listen(0, '127.0.0.1');
    await once(till.#server, 'listening');
    return till;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part as string;
    const key = keyOf(text);
    if (key === null) throw new Error(`a call without its order: ${text}`);
    const idempotencyKey = String(request.headers['idempotency-key']);
    this.runs.push({ key, idempotencyKey, at: Date.now() });
    this.#moments.note('running');
    await new Promise((resolve) => setTimeout(resolve, this.#random() * answerMs));
    // Sometimes the connection breaks, and nobody learns the result though svc goes on.
    if (this.#random() < 0.05) return void response.socket?.resetAndDestroy();
    response.writeHead(200, { 'content-type': 'text/plain' }).end('paid');
    this.#moments.note('ran');
  }
}
