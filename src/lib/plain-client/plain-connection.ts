/**
 * A connection over plain HTTP that reads and writes the common cases itself, in place. A request
 * goes in one write, and all connections read into one buffer. With the first odd answer, undici
 * takes the connection over, for good: see `AnswerReader` below.
 */
import { connect as connectByTcp, type NetConnectOpts, type Socket } from 'node:net';
import {
  closedCode,
  Connection,
  connectTimeoutCode,
  identityEncoding,
  needsIdentityEncoding,
  type Connections,
  type Exchange,
  type HttpRequest,
  type Opener,
  type AnswerHeaders,
} from '../http-client/exchange.ts';
import { UndiciSocket, type SocketBelow } from '../http-client/undici-socket.ts';
import { farAddressError, isFar, lookupNear } from '../private-connector.ts';
import type { Undici } from '../http-client/undici-connection.ts';
import type { LoadOnce } from '../load-once.ts';

// A strict reader for plain answers, as nearly all are. It reads the bytes in place. A plain answer
// has its whole head in one read, HTTP/1.1, a final status, one Content-Length or none but
// `chunked`, and every header once. Any other answer is odd: the reader says from which byte on,
// and undici reads it from there.
//
// The reader decides nothing about odd answers. So it cannot decide them otherwise than undici.
//
// Format: RFC 9112, 4 to 7

/** Gets the parts of an answer as they come. */
interface AnswerReceiver {
  head(status: number, headers: AnswerHeaders): void;
  part(part: Buffer, borrowed: true): void;
  /** The receiver needs no more bytes. */
  readonly isOver: boolean;
}

/**
 * more: the reader has read all bytes, and the answer is not whole. whole: the answer is complete,
 * and later bytes begin at `at`. odd: undici must read the answer, from `replay` on.
 */
type Reading = 'more' | 'whole' | 'odd';

type State = 'head' | 'length' | 'chunk' | 'chunk-data' | 'chunk-end';

const headBytesMax = 16 * 1024;
const chunkDigitsMax = 7;
const lengthDigitsMax = 15;
const headEnd = Buffer.from('\r\n\r\n');
const statusLine = /HTTP\/1\.1 ([2-5]\d\d) [\t\x20-\x7e]*\r\n/y;
const headerLine = /([A-Za-z][\dA-Za-z-]*): ([!-~](?:[\t -~]*[!-~])?)\r\n/y;
/**
 * More headers that affect the framing of an answer or the connection. An answer with one is odd.
 */
const oddHeaders = new Set(['proxy-connection', 'upgrade', 'trailer']);
const noBytes = Buffer.alloc(0);
const oneByteChunk = Buffer.from('1\r\nx');

/** The reader of one connection. Call `begin` before each answer. */
export class AnswerReader {
  /** The place of the unread bytes in the last read. */
  at = 0;
  /**
   * The bytes that undici must read before the bytes at `at`, so that it stands where the reader
   * stood. They are the head, if there was one, and a chunk of one byte if the end of a chunk is
   * odd.
   */
  replay: readonly Buffer[] = [];
  /** The number of bytes of a body in `replay`. */
  replayedBody = 0;
  /** The answer's hint about how long the server keeps the connection; null: none. */
  keepAliveMs: number | null = null;
  #state: State = 'head';
  /** Bytes of the body, or of the chunk, that are still to come. */
  #bytesLeft = 0;
  #head: Buffer = noBytes;

  begin(): void {
    this.#state = 'head';
    this.#head = noBytes;
    this.keepAliveMs = null;
  }

  /** @param bytes the bytes of one read; the caller may overwrite them afterwards */
  read(bytes: Buffer, to: AnswerReceiver): Reading {
    this.at = 0;
    if (this.#state === 'head' && !this.#readHead(bytes, to)) return this.#odd(0);
    while (!to.isOver) {
      if (this.#state === 'length' || this.#state === 'chunk-data') {
        const end = Math.min(bytes.length, this.at + this.#bytesLeft);
        if (end > this.at) to.part(bytes.subarray(this.at, end), true);
        this.#bytesLeft -= end - this.at;
        this.at = end;
        if (this.#bytesLeft > 0) return 'more';
        if (this.#state === 'length') return 'whole';
        this.#state = 'chunk-end';
      }
      if (this.at === bytes.length) return 'more';
      const reading = this.#readChunkLine(bytes);
      if (reading !== 'more') return reading;
    }
    return 'more';
  }

  /** @returns false: the head is odd, and the receiver got nothing of it */
  #readHead(bytes: Buffer, to: AnswerReceiver): boolean {
    const end = bytes.indexOf(headEnd) + headEnd.length;
    if (end < headEnd.length || end > headBytesMax) return false;
    const text = bytes.toString('latin1', 0, end);
    statusLine.lastIndex = 0;
    const status = Number(statusLine.exec(text)?.[1] ?? 304);
    if (status === 304) return false;
    const headers = readHeaders(text, statusLine.lastIndex);
    if (headers === null) return false;
    const state = this.#frame(status, headers);
    if (state === null) return false;
    this.#state = state;
    this.at = end;
    if (state === 'chunk') this.#head = Buffer.from(bytes.subarray(0, end));
    to.head(status, headers);
    return true;
  }

  /** How the body comes; null: that is odd. */
  #frame(status: number, headers: Record<string, string>): State | null {
    const { connection } = headers;
    if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null;
    const kept = headers['keep-alive'];
    const seconds = kept === undefined ? undefined : /timeout=(\d+)/.exec(kept)?.[1];
    this.keepAliveMs = seconds === undefined ? null : Number(seconds) * 1000;
    const length = headers['content-length'];
    const coding = headers['transfer-encoding'];
    if (status === 204) {
      this.#bytesLeft = 0;
      return length === undefined && coding === undefined ? 'length' : null;
    }
    if (length === undefined) return coding?.toLowerCase() === 'chunked' ? 'chunk' : null;
    if (coding !== undefined || length.length > lengthDigitsMax) return null;
    if (!/^\d+$/.test(length)) return null;
    this.#bytesLeft = Number(length);
    return 'length';
  }

  /** The line with the size of a chunk, or the line that ends a chunk. */
  #readChunkLine(bytes: Buffer): Reading {
    const start = this.at;
    if (this.#state === 'chunk-end') {
      if (bytes[start] !== cr || bytes[start + 1] !== lf) return this.#odd(start, oneByteChunk);
      this.#state = 'chunk';
      this.at = start + 2;
      return 'more';
    }
    let at = start;
    let size = 0;
    for (let digit; (digit = hexOf(bytes[at])) >= 0; at++) size = size * 16 + digit;
    const digits = at - start;
    const isLine = bytes[at] === cr && bytes[at + 1] === lf;
    if (digits === 0 || digits > chunkDigitsMax || !isLine) return this.#odd(start);
    if (size > 0) {
      this.#bytesLeft = size;
      this.#state = 'chunk-data';
      this.at = at + 2;
      return 'more';
    }
    // A trailer is odd.
    if (bytes[at + 2] !== cr || bytes[at + 3] !== lf) return this.#odd(start);
    this.at = at + 4;
    return 'whole';
  }

  #odd(at: number, chunk = noBytes): Reading {
    this.at = at;
    this.replay = [this.#head, chunk];
    this.replayedBody = chunk === noBytes ? 0 : 1;
    return 'odd';
  }
}

const cr = 0x0d;
const lf = 0x0a;

/** @returns null: a header is odd, or comes twice */
function readHeaders(text: string, start: number): Record<string, string> | null {
  const headers: Record<string, string> = {};
  // The last two bytes are the empty line.
  for (headerLine.lastIndex = start; headerLine.lastIndex < text.length - 2;) {
    const line = headerLine.exec(text);
    if (line === null) return null;
    const name = line[1]!.toLowerCase();
    // This also refuses names that every object has.
    if (headers[name] !== undefined || oddHeaders.has(name)) return null;
    headers[name] = line[2]!;
  }
  return headers;
}

/** @returns -1: it is no digit */
function hexOf(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Headers that undici handles itself, or refuses. */
const undiciHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
const token = /^[\w!#$%&'*+.^`|~-]+$/;
const visibleText = /^[\t\x20-\x7e]*$/;

/**
 * The text of a request, with the headers and the order of undici.
 * @returns null: the request is not plain, and undici sends or refuses it. So is any request with a
 *   header whose name or value is not ASCII, holds a line break, or affects the framing.
 * Format: RFC 9112, 3 and 6
 */
export function writeRequest(request: HttpRequest): string | null {
  const { method, url, headers, body } = request;
  const hasBody = body !== null && body.length > 0;
  if (url.protocol !== 'http:' || (hasBody && method !== 'POST')) return null;
  if (method === 'PUT' || method === 'PATCH' || body instanceof Uint8Array) return null;
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  head += 'connection: keep-alive\r\n';
  for (const name of Object.keys(headers)) {
    const value: unknown = headers[name];
    if (value === undefined) continue;
    if (typeof value !== 'string' || !visibleText.test(value)) return null;
    if (!token.test(name) || undiciHeaders.has(name.toLowerCase())) return null;
    head += `${name}: ${value}\r\n`;
  }
  if (needsIdentityEncoding(request))
    head += `${identityEncoding.name}: ${identityEncoding.value}\r\n`;
  if (method !== 'POST') return `${head}\r\n`;
  if (!hasBody) return `${head}content-length: 0\r\n\r\n`;
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** After this many odd answers of a server, its new connections are undici's from the beginning. */
export const oddMax = 8;

/**
 * @param undici takes a connection over after an odd answer
 * @returns opens the connections to one origin: plain ones while its answers are plain
 */
export function plainOpener(undici: Pick<LoadOnce<Undici>, 'get'>, target: PlainTarget): Opener {
  const { url, nearOnly, connectMs } = target;
  let oddCount = 0;
  let byUndici: Opener | null = null;
  const plain: Opener = (owner) => {
    const handOver: HandOver = (from, socket, exchange) => {
      const takeOver = ({ UndiciConnection, connectorFrom, connectorTo }: Undici): void => {
        const connect = connectorTo(nearOnly, connectMs);
        if (++oddCount >= oddMax)
          byUndici = (all) => new UndiciConnection(url.origin, connect, all);
        const by = new UndiciConnection(url.origin, connectorFrom(socket, connect), owner);
        if (owner.replace(from, by)) by.begin(exchange);
      };
      undici.get().then(takeOver, (error: unknown) => exchange.failed(error));
    };
    return new PlainConnection(target, owner, handOver);
  };
  return (owner) => (byUndici ?? plain)(owner);
}

/** Lets undici continue on a connection, with the exchange that is under way there. */
export type HandOver = (from: PlainConnection, socket: UndiciSocket, exchange: Exchange) => void;

export type PlainTarget = {
  readonly url: URL;
  readonly nearOnly: boolean;
  /** The time for connecting, in milliseconds. */
  readonly connectMs: number;
  /** Absent: over TCP. */
  readonly connect?: (options: NetConnectOpts) => PlainSocket;
};

export type PlainSocket = SocketBelow & Pick<Socket, 'on' | 'writableLength'>;

/** Many servers close an idle connection after 5 s without saying so beforehand. */
const idleMs = 4_000;
/**
 * If a server says when it closes, svc closes this much earlier: the message and its clock may be
 * late.
 */
const safetyMs = 2_000;
const idleMsMax = 600_000;

/**
 * All connections read into this buffer. The reader uses the bytes before anything else can be
 * read.
 */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Connecting → busy and idle in turns → handed over, or closed. Between an answer and the next
 * request the event loop looks at all sockets at least once. So the connection sees unexpected
 * bytes, or the end, before it writes the request, and does not take them for its answer.
 */
export class PlainConnection extends Connection {
  readonly #target: PlainTarget;
  readonly #owner: Connections;
  readonly #handOverTo: HandOver;
  readonly #reader = new AnswerReader();
  readonly #closed = Promise.withResolvers<void>();
  #socket: PlainSocket | null = null;
  #isConnected = false;
  /** The exchange that waits for the socket, or whose request was sent. */
  #exchange: Exchange | null = null;
  #isSent = false;
  #bytes = 0;
  #isGone = false;
  /** Limits the time for connecting, and later the idle time. */
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
      queueMicrotask(() => this.#fail(farAddressError()));
      return;
    }
    const socket = connect({
      host,
      port: Number(url.port || 80),
      ...(nearOnly ? { lookup: lookupNear } : null),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      onread: { buffer: readBuffer, callback: this.#read },
    });
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#fail(codedError(connectTimeoutCode)), connectMs);
    socket.on('connect', () => {
      clearTimeout(this.#timer!);
      this.#timer = null;
      this.#isConnected = true;
      this.#send();
    });
    socket.on('end', () => {
      if (this.#handedOver !== null) this.#handedOver.receiveEnd();
      else this.#fail(codedError(closedCode));
    });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => {
      if (this.#handedOver !== null) this.#handedOver.receiveClose();
      else this.#fail(codedError(closedCode));
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
    const bytes = readBuffer.subarray(0, count);
    this.#bytes += count;
    if (this.#handedOver !== null) return this.#handedOver.receive(Buffer.from(bytes));
    const exchange = this.#exchange;
    if (exchange === null || !this.#isSent) {
      if (!isBlank(bytes)) this.#fail(codedError(closedCode));
      return true;
    }
    exchange.countBytes(this.#bytes);
    if (exchange.isOver) return true;
    const reading = this.#reader.read(bytes, exchange);
    if (reading === 'odd') this.#handOver(exchange, bytes.subarray(this.#reader.at));
    else if (reading === 'whole') this.#complete(exchange, bytes.subarray(this.#reader.at));
    return true;
  };

  /** @param behind bytes after the answer that nobody asked for */
  #complete(exchange: Exchange, behind: Buffer): void {
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

  /** @param bytes the rest of the read, from the odd byte on */
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

  #fail(error: Error): void {
    if (this.#handedOver !== null) return this.#handedOver.receiveClose(error);
    const exchange = this.#exchange;
    this.#exchange = null;
    if (exchange !== null) {
      if (this.#isSent || !this.#isConnected) exchange.failed(error);
      // The request was never sent, so another connection may take it.
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

const codedError = (code: string): Error => Object.assign(new Error('no answer'), { code });

/** Empty lines between answers do not count. */
const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x0d || byte === 0x0a);
