/**
 * A TCP proxy before a server. A test can cut or close it, slow it down, or make it hold bytes
 * back.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../support/program.ts';

type Side = { readonly from: Socket; readonly to: Socket };

export class Way implements AsyncDisposable {
  readonly port: number;
  /** In each direction, in milliseconds. */
  latencyMs = 0;
  /** Connections begun. */
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

  /** The URL of the same database, through this proxy. */
  url(url: string): string {
    const own = new URL(url);
    own.host = `127.0.0.1:${this.port}`;
    return own.href;
  }

  /** Resets every connection; new ones are let in. */
  cut(): void {
    this.#held &&= [];
    for (const socket of this.#sockets) {
      // Node cannot reset a socket whose end is on its way, and never forgets the connection.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  /** Cuts, and refuses every client until it is opened. */
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

  /** Takes bytes from now on, and delivers them only after the release. */
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
    // Bytes on their way still arrive.
    if (from.errored !== null) to.destroy();
    else if (!to.writableEnded) this.#pass(() => to.end());
  }

  /** Later bytes arrive later, even after the latency has become smaller. */
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
