/** Toybox, the invented platform of test/fixtures/toy/toy.ts: one room, and who writes there. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Message = {
  readonly n: number;
  readonly id: number;
  readonly from: object;
  readonly text: string;
};

export class FakeToybox {
  /** The bot's texts, in the order of their first appearance. */
  readonly written = new Map<number, { text: string; to: string }>();
  readonly #waiting: Message[] = [];
  #lastId = 0;
  #n = 0;
  #wake = (): void => {};
  readonly #server = createServer((request, response) => {
    void this.#serve(request, response);
  });

  static async start(): Promise<FakeToybox> {
    const toybox = new FakeToybox();
    await new Promise<void>((listening) => toybox.#server.listen(0, '127.0.0.1', listening));
    return toybox;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get texts(): readonly string[] {
    return [...this.written.values()].map((one) => one.text);
  }

  /** @param id of a message that comes again; left out: a new one */
  say(person: string, words: string, id = ++this.#lastId): number {
    this.#waiting.push({
      n: ++this.#n,
      id,
      from: { id: person, name: `Name of ${person}` },
      text: words,
    });
    this.#wake();
    return id;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, this.url);
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.headers.authorization !== 'Bearer 77:secret') return answer(401, {});
    const content = JSON.parse((await text(request)) || '{}') as { text: string; to: string };
    const id = Number(pathname.split('/').at(-1));
    switch (`${request.method} ${pathname.split('/')[1]}`) {
      case 'GET me':
        return answer(200, { id: '77', name: 'toy' });
      case 'GET rooms': {
        const forgotten = Number(searchParams.get('after'));
        while (this.#waiting.length > 0 && this.#waiting[0]!.n <= forgotten) this.#waiting.shift();
        if (this.#waiting.length === 0) await this.#said(response);
        return answer(200, this.#waiting);
      }
      case 'POST rooms':
        this.written.set(++this.#lastId, content);
        return answer(200, { id: this.#lastId });
      case 'PUT messages':
        if (!this.written.has(id)) return answer(404, {});
        this.written.get(id)!.text = content.text;
        return answer(200, { id });
      case 'DELETE messages':
        return answer(this.written.delete(id) ? 200 : 404, {});
      default:
        return answer(404, {});
    }
  }

  #said(response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      response.once('close', resolve);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}
