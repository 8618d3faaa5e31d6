/**
 * The way to a server, as TCP has it: it can be cut, closed, slow, or take bytes without passing
 * them on.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../support/program.ts';

type Side = { readonly from: Socket; readonly to: Socket };

export class Way implements AsyncDisposable {
  readonly port: number;
  /** Each way, in milliseconds. */
  latencyMs = 0;
  /** Connections that were begun. */
  begun = 0;
  readonly #far: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #held: (() => void)[] | null = null;
  readonly #underWay: { readonly arrives: number; readonly act: () => void }[] = [];

  private constructor(port: number, far: { readonly host: string; readonly port: number }) {
    this.port = port;
    this.#far = far;
  }

  /** @param url of a server's database */
  static async to(url: string): Promise<Way> {
    const { hostname: host, port } = new URL(url);
    const way = new Way(await freePort(), { host, port: Number(port) });
    await way.open();
    return way;
  }

  /** The URL of the same database, by this way. */
  url(url: string): string {
    const own = new URL(url);
    own.host = `127.0.0.1:${this.port}`;
    return own.href;
  }

  /** Resets every connection; who connects anew is let in. */
  cut(): void {
    this.#held &&= [];
    for (const socket of this.#sockets) {
      // Where an end is on its way Node cannot reset, and never forgets the connection.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  /** Cuts, and refuses whoever connects, until it is opened. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.close();
    this.cut();
    await once(server, 'close');
  }

  async open(): Promise<void> {
    if (this.#server !== null) return;
    this.#server = createServer((near) => this.#take(near)).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** From now on bytes are taken, and arrive only when it is released. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const pass of held) pass();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #take(near: Socket): void {
    this.begun++;
    const far = connect(this.#far);
    for (const side of [
      { from: near, to: far },
      { from: far, to: near },
    ]) {
      this.#sockets.add(side.from);
      side.from.setNoDelay(true);
      side.from.on('data', (bytes) => this.#pass(() => side.to.writable && side.to.write(bytes)));
      side.from.on('end', () => this.#pass(() => side.to.end()));
      side.from.on('error', () => this.#lose(side));
      side.from.on('close', () => this.#lose(side));
    }
  }

  #lose({ from, to }: Side): void {
    this.#sockets.delete(from);
    // What is on its way still arrives.
    if (from.errored !== null) to.destroy();
    else if (!to.writableEnded) this.#pass(() => to.end());
  }

  /** What is sent later arrives later, also where the way has become faster meanwhile. */
  #pass(act: () => void): void {
    const arrives = performance.now() + this.latencyMs;
    this.#underWay.push({ arrives: Math.max(arrives, this.#underWay.at(-1)?.arrives ?? 0), act });
    if (this.#underWay.length === 1) this.#deliver();
  }

  #deliver(): void {
    for (let next = this.#underWay[0]; next !== undefined; next = this.#underWay[0]) {
      const ms = next.arrives - performance.now();
      if (ms > 0) return void setTimeout(() => this.#deliver(), ms);
      this.#underWay.shift();
      if (this.#held === null) next.act();
      else this.#held.push(next.act);
    }
  }
}
