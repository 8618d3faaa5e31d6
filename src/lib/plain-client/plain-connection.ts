/**
 * A connection over plain HTTP that reads and writes the common cases itself, in place: what is
 * sent goes in one write, and all connections read into one buffer. With the first odd answer it is
 * handed over to undici, for good: see read-answer.ts.
 */
import { connect as connectByTcp, type NetConnectOpts, type Socket } from 'node:net';
import type { Connections } from '../http-client/connections.ts';
import {
  closedCode,
  Connection,
  connectTimeoutCode,
  type Exchange,
} from '../http-client/exchange.ts';
import { type SocketBelow, UndiciSocket } from '../http-client/undici-socket.ts';
import { farAddress, isFar, lookupNear } from '../private-connector.ts';
import { AnswerReader } from './read-answer.ts';

/** Has undici go on on a connection, with the exchange that is under way there. */
export type HandOver = (from: PlainConnection, socket: UndiciSocket, exchange: Exchange) => void;

export type PlainTarget = {
  readonly url: URL;
  readonly nearOnly: boolean;
  /** Milliseconds that a connection has to come about. */
  readonly connectMs: number;
  /** Left out: over TCP. */
  readonly connect?: (options: NetConnectOpts) => PlainSocket;
};

export type PlainSocket = SocketBelow & Pick<Socket, 'on' | 'writableLength'>;

/** Many servers close an idle connection after 5 s without saying so beforehand. */
const idleMs = 4_000;
/** Where a server says when it closes, so long before: its word and its clock may be late. */
const safetyMs = 2_000;
const idleMsMax = 600_000;

/** Read by whoever is given it, before anything else can be read. */
const shared = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Connecting → busy and idle in turns → handed over, or closed. Between an answer and the next
 * request the event loop looks at all sockets at least once, so that what came unasked, or the end,
 * is seen before the request is written, and is not taken for its answer.
 */
export class PlainConnection extends Connection {
  readonly #target: PlainTarget;
  readonly #owner: Connections;
  readonly #handOverTo: HandOver;
  readonly #reader = new AnswerReader();
  readonly #closed = Promise.withResolvers<void>();
  #socket: PlainSocket | null = null;
  #isConnected = false;
  /** Waits for the socket, or has been sent on it. */
  #exchange: Exchange | null = null;
  #isSent = false;
  #bytes = 0;
  #isGone = false;
  /** That it comes about; then, that it is idle for too long. */
  #timer: NodeJS.Timeout | null = null;
  #timerMs = 0;
  #idleMs = idleMs;
  #handedOver: UndiciSocket | null = null;

  constructor(target: PlainTarget, owner: Connections, handOver: HandOver) {
    super();
    this.#target = target;
    this.#owner = owner;
    this.#handOverTo = handOver;
  }

  begin(exchange: Exchange): void {
    this.#exchange = exchange;
    if (this.#socket === null) return this.#connect();
    this.#socket.ref();
    setImmediate(this.#send);
  }

  destroy(): Promise<void> {
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.destroyed();
    this.#close();
    return this.#closed.promise;
  }

  #connect(): void {
    const { url, nearOnly, connectMs, connect = connectByTcp } = this.#target;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (nearOnly && isFar(host)) {
      queueMicrotask(() => this.#broken(farAddress()));
      return;
    }
    const socket = connect({
      host,
      port: Number(url.port || 80),
      ...(nearOnly ? { lookup: lookupNear } : null),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      onread: { buffer: shared, callback: this.#read },
    });
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#broken(errorOf(connectTimeoutCode)), connectMs);
    socket.on('connect', () => {
      clearTimeout(this.#timer!);
      this.#timer = null;
      this.#isConnected = true;
      this.#send();
    });
    socket.on('end', () => {
      if (this.#handedOver !== null) this.#handedOver.cameToEnd();
      else this.#broken(errorOf(closedCode));
    });
    socket.on('error', (error) => this.#broken(error));
    socket.on('close', () => {
      if (this.#handedOver !== null) this.#handedOver.lost();
      else this.#broken(errorOf(closedCode));
      this.#closed.resolve();
    });
  }

  readonly #send = (): void => {
    const exchange = this.#exchange;
    if (exchange === null) return;
    if (exchange.isOver) {
      this.#exchange = null;
      return this.#free();
    }
    this.#isSent = true;
    this.#bytes = 0;
    this.#reader.begin();
    exchange.begun(this.#giveUp);
    this.#socket!.write(exchange.text!, 'utf8');
    exchange.text = null;
  };

  readonly #read = (count: number): boolean => {
    const bytes = shared.subarray(0, count);
    this.#bytes += count;
    if (this.#handedOver !== null) return this.#handedOver.brought(Buffer.from(bytes));
    const exchange = this.#exchange;
    if (exchange === null || !this.#isSent) {
      if (!isBlank(bytes)) this.#broken(errorOf(closedCode));
      return true;
    }
    exchange.read(this.#bytes);
    if (exchange.isOver) return true;
    const reading = this.#reader.read(bytes, exchange);
    if (reading === 'odd') this.#handOver(exchange, bytes.subarray(this.#reader.at));
    else if (reading === 'whole') this.#whole(exchange, bytes.subarray(this.#reader.at));
    return true;
  };

  /** @param behind what has come behind the answer: nobody has asked for it */
  #whole(exchange: Exchange, behind: Buffer): void {
    this.#exchange = null;
    this.#isSent = false;
    exchange.end();
    const { keepAliveMs } = this.#reader;
    this.#idleMs = keepAliveMs === null ? idleMs : Math.min(keepAliveMs - safetyMs, idleMsMax);
    // A server that has answered may never read the rest of the request.
    const isUnsent = this.#socket!.writableLength > 0;
    if (this.#idleMs <= 0 || isUnsent || !isBlank(behind)) this.#close();
    else setImmediate(this.#free);
  }

  readonly #free = (): void => {
    this.#owner.freed(this);
    if (this.#exchange !== null || this.#isGone) return;
    this.#socket!.unref();
    if (this.#timer !== null && this.#timerMs === this.#idleMs) {
      this.#timer.refresh();
      return;
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerMs = this.#idleMs;
    this.#timer = setTimeout(() => {
      if (this.#exchange === null) this.#close();
    }, this.#idleMs);
    this.#timer.unref();
  };

  /** @param bytes from where on it is odd */
  #handOver(exchange: Exchange, bytes: Buffer): void {
    const { replay, replayedBody } = this.#reader;
    exchange.skip(replayedBody);
    const all = [...replay, Buffer.from(bytes)];
    this.#handedOver = new UndiciSocket(this.#socket!, all, this.#bytes);
    this.#handOverTo(this, this.#handedOver, exchange);
  }

  readonly #giveUp = (): void => {
    this.#exchange = null;
    this.#close();
  };

  #broken(error: Error): void {
    if (this.#handedOver !== null) return this.#handedOver.lost(error);
    const exchange = this.#exchange;
    this.#exchange = null;
    if (exchange !== null) {
      if (this.#isSent || !this.#isConnected) exchange.failed(error);
      // It has never been sent, so that another connection may have it.
      else this.#owner.take(exchange);
    }
    this.#close();
  }

  #close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#owner.gone(this);
    if (this.#socket === null) this.#closed.resolve();
    else this.#socket.destroy();
  }
}

const errorOf = (code: string): Error => Object.assign(new Error('no answer'), { code });

/** Empty lines between answers mean nothing. */
const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x0d || byte === 0x0a);
