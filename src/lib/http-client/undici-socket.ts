/**
 * The socket that undici reads and writes: it hides some interim answers, and can replay an answer.
 */
import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';

/** The functions that it needs of the socket below it. */
export type SocketBelow = Pick<
  Socket,
  'cork' | 'destroy' | 'destroyed' | 'ref' | 'resume' | 'uncork' | 'unref' | 'write'
>;

type Done = (error?: Error | null) => void;

/**
 * A socket for undici. It changes an unwanted `100 Continue` to 102: undici skips any interim
 * answer but that one, which ends its connection.
 *
 * A plain connection hands its socket over when an answer is odd. The plain connection has sent the
 * request by then. So this socket swallows the request that undici writes. Then undici reads the
 * answer from the odd place on. Later requests on the connection go through unchanged.
 */
export class UndiciSocket extends Duplex {
  readonly #socket: SocketBelow;
  readonly #heads = new AnswerHeads();
  /**
   * The bytes that came before undici wrote the request again; null: it has written it, or there
   * was no request.
   */
  #pending: Buffer[] | null;
  #isEnded = false;
  #error: Error | undefined;
  /** The bytes read from the socket since the request was sent. */
  bytesRead: number;

  /**
   * @param replay undici reads these bytes first; they are `bytesRead` of the socket or fewer.
   *   null: no request was sent yet
   */
  constructor(socket: SocketBelow, replay: readonly Buffer[] | null = null, bytesRead = 0) {
    super({ readableHighWaterMark: 64 * 1024 });
    this.#socket = socket;
    this.#pending = replay?.filter(({ length }) => length > 0) ?? null;
    this.bytesRead = bytesRead;
  }

  /** A socket that undici uses from its first request on. */
  static over(socket: Duplex): UndiciSocket {
    const own = new UndiciSocket(socket as Socket);
    socket.on('data', (bytes: Buffer) => {
      if (!own.receive(bytes)) socket.pause();
    });
    socket.on('end', () => own.receiveEnd());
    socket.on('error', (error) => own.receiveClose(error));
    socket.on('close', () => own.receiveClose());
    return own;
  }

  /**
   * The status in the first line of the final answer, whatever follows it; 0: the line has not
   * come.
   * @param interims how many interim answers undici has read. If undici refuses one, nothing after
   *   it counts.
   */
  finalStatus(interims: number): number {
    return this.#heads.interims === interims ? this.#heads.status : 0;
  }

  /** Call it before a request is written: the next bytes begin an answer. */
  expectAnswer(): void {
    this.#heads.begin();
  }

  /**
   * Takes bytes of the socket.
   * @returns whether there is room for more
   */
  receive(bytes: Buffer): boolean {
    if (this.destroyed) return true;
    this.bytesRead += bytes.length;
    if (this.#pending === null) return this.#deliver(bytes);
    this.#pending.push(bytes);
    return true;
  }

  /** The other side has sent all its bytes. */
  receiveEnd(): void {
    this.#isEnded = true;
    if (this.#pending === null) this.push(null);
  }

  /** The socket is closed. undici first reads the bytes that have come. */
  receiveClose(error?: Error): void {
    this.#error ??= error;
    if (this.#pending !== null || (this.#isEnded && error === undefined)) return;
    setImmediate(() => this.destroy(error));
  }

  ref(): void {
    this.#socket.ref();
  }

  unref(): void {
    this.#socket.unref();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this._writev([{ chunk: bytes }], done);
  }

  override _writev(parts: readonly { readonly chunk: Buffer }[], done: Done): void {
    if (this.#pending !== null) {
      process.nextTick(() => this.#replay());
      return done();
    }
    // Head and body in one write, as undici has written them.
    this.#socket.cork();
    const last = parts.length - 1;
    parts.forEach(({ chunk }, at) => this.#socket.write(chunk, at === last ? done : undefined));
    this.#socket.uncork();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #deliver(bytes: Buffer): boolean {
    this.#heads.scan(bytes);
    return this.push(bytes);
  }

  #replay(): void {
    const held = this.#pending;
    if (held === null) return;
    this.#pending = null;
    for (const bytes of held) this.#deliver(bytes);
    if (this.#isEnded) this.push(null);
    if (this.#error !== undefined || this.#socket.destroyed) this.receiveClose(this.#error);
  }
}

const [cr, lf, space, zero, nine] = bytesOf('\r\n 09');
const lineStart = bytesOf('HTTP/1.1 ');
const minorVersionAt = 7;
const digits = 3;
const headEnd = bytesOf('\r\n\r\n');

/**
 * Watches the first lines of answers up to the final one, and the heads of the interim answers
 * before it, in reads of any size. It replaces 100 by 102 in place. It checks nothing else: undici
 * reads the same bytes.
 */
class AnswerHeads {
  #state: 'line' | 'head' | 'rest' = 'rest';
  /** How much of the beginning of a line, or of the end of a head, has come. */
  #matched = 0;
  #number = 0;
  /** The status of the final answer; 0: its first line has not come, or is malformed. */
  status = 0;

  /** Heads of interim answers that have come whole. */
  interims = 0;

  begin(): void {
    this.#beginLine();
    this.interims = 0;
    this.status = 0;
  }

  #beginLine(): void {
    this.#state = 'line';
    this.#matched = 0;
    this.#number = 0;
  }

  /** @param bytes the next bytes; changed in place */
  scan(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#state !== 'rest'; at++) {
      const byte = bytes[at]!;
      if (this.#state === 'head') this.#scanHead(byte);
      else if (this.#scanLine(byte)) bytes[at] = zero! + 2;
    }
  }

  #scanHead(byte: number): void {
    if (byte === headEnd[this.#matched]) this.#matched++;
    else this.#matched = byte === cr ? 1 : 0;
    if (this.#matched < headEnd.length) return;
    this.interims++;
    this.#beginLine();
  }

  /** @returns whether it is the last digit of 100 */
  #scanLine(byte: number): boolean {
    // Empty lines before an answer do not count.
    if (this.#matched === 0 && (byte === cr || byte === lf)) return false;
    const at = this.#matched++;
    if (at < lineStart.length) {
      if (byte !== lineStart[at] && !(at === minorVersionAt && byte === zero)) this.#state = 'rest';
      return false;
    }
    if (at === lineStart.length + digits) {
      if (byte === space || byte === cr || byte === lf) this.status = this.#number;
      this.#state = 'rest';
      return false;
    }
    if (byte < zero! || byte > nine!) this.#state = 'rest';
    this.#number = this.#number * 10 + byte - zero!;
    const isInterim = at === lineStart.length + digits - 1 && this.#number < 200;
    if (!isInterim) return false;
    this.#state = this.#number < 100 ? 'rest' : 'head';
    this.#matched = 0;
    return this.#number === 100;
  }
}

function bytesOf(text: string): readonly number[] {
  return [...Buffer.from(text)];
}
