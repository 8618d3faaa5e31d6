/**
 * The way to a server, as TCP has it: it can be cut, closed, slow, or take bytes without passing
 * them on.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../program.ts';

type Side = { readonly from: Socket; readonly to: Socket; readonly isAnswer: boolean };

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
  #holdsAll = false;
  readonly #underWay: {
    readonly arrives: number;
    readonly isAnswer: boolean;
    readonly act: () => void;
  }[] = [];

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
    for (const socket of this.#sockets) socket.resetAndDestroy();
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
    this.#holdsAll = true;
  }

  /** The same of what the server sends alone: it does what it is asked, and nobody is told. */
  holdAnswers(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.#holdsAll = false;
    for (const pass of held) pass();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #take(near: Socket): void {
    this.begun++;
    const far = connect(this.#far);
    for (const side of [
      { from: near, to: far, isAnswer: false },
      { from: far, to: near, isAnswer: true },
    ]) {
      this.#sockets.add(side.from);
      side.from.setNoDelay(true);
      side.from.on('data', (bytes) =>
        this.#pass(side, () => side.to.writable && side.to.write(bytes)),
      );
      side.from.on('end', () => this.#pass(side, () => side.to.end()));
      side.from.on('error', () => this.#lose(side));
      side.from.on('close', () => this.#lose(side));
    }
  }

  #lose(side: Side): void {
    const { from, to } = side;
    this.#sockets.delete(from);
    // What is on its way still arrives.
    if (from.errored !== null) to.destroy();
    else if (!to.writableEnded) this.#pass(side, () => to.end());
  }

  /** What is sent later arrives later, also where the way has become faster meanwhile. */
  #pass({ isAnswer }: Side, act: () => void): void {
    const arrives = Math.max(
      performance.now() + this.latencyMs,
      this.#underWay.at(-1)?.arrives ?? 0,
    );
    this.#underWay.push({ arrives, isAnswer, act });
    if (this.#underWay.length === 1) this.#deliver();
  }

  #deliver(): void {
    for (let next = this.#underWay[0]; next !== undefined; next = this.#underWay[0]) {
      const ms = next.arrives - performance.now();
      if (ms > 0) return void setTimeout(() => this.#deliver(), ms);
      this.#underWay.shift();
      const isHeld = this.#holdsAll || next.isAnswer;
      if (this.#held === null || !isHeld) next.act();
      else this.#held.push(next.act);
    }
  }
}
