/**
 * A TCP proxy that spoils a share of its exchanges until it is healed. It knows just enough of
 * HTTP/1.1 to find the end of a request with a content length. The near side is the client, the far
 * side the server.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../support/program.ts';

export const networkFaults = [
  /** Half of the request arrives, then both sides are disconnected. */
  'cut',
  /** The request is held back for up to 300 ms. */
  'delay',
  /** Half of the request arrives; then neither an answer nor an end comes. */
  'half-open',
  /** The request arrives and has its answer, but its sender gets a RST instead. */
  'reset',
  /** Request and answer come in 15 pieces: most in 300 ms each, some in 4 s, some in 18 s. */
  'drip',
  /** The port is closed and every connection ends, for 100 to 200 ms, and again after as long. */
  'refused',
] as const;
export type NetworkFault = (typeof networkFaults)[number];

const pieces = 15;
/** Between two pieces. With `endless` nothing that svc waits for arrives within its limit. */
const pieceMs = { most: 20, some: 270, endless: 1_200 } as const;

/** The port is closed for this time up to twice as long, then open for as long again. */
const awayMs = 100;
const delayMsMax = 300;

/** The share of spoiled exchanges; the first exchange is always spoiled. */
const share = 0.3;

export class FaultProxy implements AsyncDisposable {
  /** Exchanges that met a fault. The proxy cannot count refused connections. */
  spoiled = 0;
  /** How long each endless exchange lasted until that side let go, in milliseconds. */
  readonly heldMs = { near: [] as number[], far: [] as number[] };
  /** Exchanges without an end of their own: half-open, or too slow. */
  endless = 0;
  /** The far side still receives the bytes of a sender that has gone. */
  readonly farStays: boolean;
  readonly port: number;
  readonly #farPort: number;
  readonly #random: () => number;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #fault: NetworkFault | null = null;
  #window: Promise<void> = Promise.resolve();
  #over = false;
  #hasRefused = false;

  private constructor(port: number, farPort: number, random: () => number, farStays: boolean) {
    this.port = port;
    this.farStays = farStays;
    this.#farPort = farPort;
    this.#random = random;
  }

  /** @param farStays the far side still receives the bytes of a sender that has gone */
  static async start(farPort: number, random: () => number, farStays = false): Promise<FaultProxy> {
    const proxy = new FaultProxy(await freePort(), farPort, random, farStays);
    await proxy.#listen();
    return proxy;
  }

  /**
   * Spoils exchanges with this fault from now on.
   * @param wasRefused whether the proxy has refused somebody, which only the client can tell
   */
  spoil(fault: NetworkFault, wasRefused: () => Promise<boolean>): void {
    this.#fault = fault;
    if (fault === 'refused') this.#window = this.#refuseInTurns(wasRefused);
  }

  /** Whether an exchange has met the fault. */
  get hasSpoiled(): boolean {
    return this.spoiled > 0 || this.#hasRefused;
  }

  /** Spoils no new exchange from now on; spoiled ones stay spoiled. */
  async heal(): Promise<void> {
    this.#fault = null;
    await this.#window;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    await this.heal();
    await this.#close();
  }

  /** The fault of the exchange that begins now, or null. */
  next(): NetworkFault | null {
    const fault = this.#fault;
    if (fault === null || fault === 'refused') return null;
    if (this.spoiled > 0 && this.#random() >= share) return null;
    this.spoiled++;
    return fault;
  }

  slowness(): number {
    const chance = this.#random();
    if (chance < 0.7) return pieceMs.most;
    return chance < 0.85 ? pieceMs.some : pieceMs.endless;
  }

  /** A number from 0 up to `most`, by the seed. */
  upTo(most: number): number {
    return this.#random() * most;
  }

  dial(): Socket {
    return this.#watch(connect(this.#farPort, '127.0.0.1'));
  }

  /** Notes how long each side waits for an endless exchange. */
  watchEndless(near: Socket, far: Socket): void {
    const startedAt = performance.now();
    this.endless++;
    for (const [side, socket] of [['near', near] as const, ['far', far] as const]) {
      socket.once('close', () => {
        if (!this.#over) this.heldMs[side].push(performance.now() - startedAt);
      });
    }
  }

  async #listen(): Promise<void> {
    const server = createServer((near) => new Passage(this, this.#watch(near)));
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
  }

  async #close(): Promise<void> {
    const closed = this.#server?.listening === true ? once(this.#server, 'close') : null;
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** The first turn lasts until a client met it: a slow machine may sleep through any other. */
  async #refuseInTurns(wasRefused: () => Promise<boolean>): Promise<void> {
    while (this.#fault === 'refused') {
      await this.#close();
      do {
        await pause(awayMs + this.upTo(awayMs));
        this.#hasRefused ||= await wasRefused();
      } while (this.#fault === 'refused' && !this.#hasRefused);
      await this.#listen();
      if (this.#fault === 'refused') await pause(awayMs + this.upTo(awayMs));
    }
  }

  #watch(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.setNoDelay(true).on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/** One connection through the proxy: each exchange in it may have its own fault. */
class Passage {
  readonly #proxy: FaultProxy;
  readonly #near: Socket;
  #far: Socket | null = null;
  #request = Buffer.alloc(0);
  #fate: NetworkFault | null = null;
  #pieceMs = 0;
  /** Pieces that drip to one side wait for the pieces before them. */
  #dripping: Promise<void> = Promise.resolve();

  constructor(proxy: FaultProxy, near: Socket) {
    this.#proxy = proxy;
    this.#near = near;
    near.on('data', (part: Buffer) => {
      this.#request = Buffer.concat([this.#request, part]);
      const length = requestLength(this.#request);
      if (length === null || this.#request.length < length) return;
      const request = this.#request.subarray(0, length);
      this.#request = this.#request.subarray(length);
      this.#pass(request);
    });
  }

  #pass(request: Buffer): void {
    const near = this.#near;
    const far = this.#dialed();
    const half = request.subarray(0, Math.ceil(request.length / 2));
    this.#fate = this.#proxy.next();
    switch (this.#fate) {
      case null:
      case 'refused':
      case 'reset':
        far.write(request);
        return;
      case 'cut':
        far.end(half);
        near.destroy();
        return;
      case 'delay':
        setTimeout(() => far.write(request), this.#proxy.upTo(delayMsMax));
        return;
      case 'half-open':
        far.write(half);
        this.#proxy.watchEndless(near, far);
        return;
      case 'drip':
        this.#pieceMs = this.#proxy.slowness();
        if (this.#pieceMs === pieceMs.endless) this.#proxy.watchEndless(near, far);
        void this.#drip(request, far);
        return;
      default:
        this.#fate satisfies never;
    }
  }

  #dialed(): Socket {
    if (this.#far !== null) return this.#far;
    const far = this.#proxy.dial();
    far.on('data', (part: Buffer) => this.#answer(part));
    far.once('close', () => {
      if (this.#fate !== 'half-open') void this.#dripping.then(() => this.#near.end());
    });
    this.#near.once('close', () => {
      const stays = this.#proxy.farStays && this.#fate === 'drip';
      if (this.#fate !== 'half-open' && !stays) far.destroy();
    });
    this.#far = far;
    return far;
  }

  #answer(part: Buffer): void {
    if (this.#near.destroyed && this.#fate === 'drip') this.#far?.end();
    else if (this.#fate === 'reset') this.#near.resetAndDestroy();
    else if (this.#fate === 'drip') void this.#drip(part, this.#near);
    else if (this.#fate !== 'half-open') this.#near.write(part);
  }

  #drip(bytes: Buffer, to: Socket): Promise<void> {
    this.#dripping = sendInPieces(bytes, to, this.#pieceMs, this.#dripping);
    return this.#dripping;
  }
}

async function sendInPieces(
  bytes: Buffer,
  to: Socket,
  ms: number,
  before: Promise<void>,
): Promise<void> {
  await before;
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length && !to.destroyed; at += size) {
    to.write(bytes.subarray(at, at + size));
    await pause(ms);
  }
}

/** The length of head and body; null while the head is incomplete. */
function requestLength(bytes: Buffer): number | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const length = /^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, headEnd));
  return headEnd + 4 + Number(length?.[1] ?? 0);
}
