/**
 * What `node:http` reads of a connection and writes to it: a stream of svc's own over the socket,
 * as the event 'connection' of `http.Server` takes any Duplex
 * (https://nodejs.org/api/http.html#event-connection). The socket stays with svc, so Node's server
 * never meets a socket that somebody else reads from.
 *
 * A socket gives up to 64 KiB at once, which may be two thousand requests, and Node begins all of a
 * piece before anything else runs. So the stream gives it in short pieces, each in a turn of the
 * connection's own. A piece ends behind an empty line, as a head does, so it begins one request, or
 * two where an empty line was cut. A body of announced length goes with its head, unless another
 * stream waits.
 *
 * Flowing → waiting for a turn (bytes are held, the socket is paused) → flowing. Nothing is given
 * while Node has paused the stream, as it does while answers are not taken or a body is not read.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const pieceBytesMax = 2 * 1024;
/** For how long one turn of the event loop may give pieces to `node:http`, in milliseconds. */
const turnMs = 1;
const emptyLine = Buffer.from('\r\n\r\n');

/** What all connections together may do in one turn of the event loop. */
export class Turns {
  /** Streams that hold bytes. The one that has waited for longest is first. */
  readonly #waiting = new Set<RequestStream>();
  /** When this turn has lasted long enough; null: nothing was given in it. */
  #until: number | null = null;

  /** Whether a piece may be given in this turn. */
  get hasTime(): boolean {
    const now = performance.now();
    this.#until ??= this.#begin(now);
    return now < this.#until;
  }

  /** Whether no other stream waits, and there is time. */
  get isFree(): boolean {
    return this.#waiting.size === 0 && this.hasTime;
  }

  /** It is to give a piece in a later turn. */
  add(stream: RequestStream): void {
    this.#waiting.add(stream);
    this.#until ??= this.#begin(performance.now());
  }

  #begin(now: number): number {
    setImmediate(this.#take);
    return now + turnMs;
  }

  readonly #take = (): void => {
    this.#until = null;
    // Streams that are added meanwhile come behind those that are left.
    let left = this.#waiting.size;
    for (const stream of this.#waiting) {
      if (left-- === 0 || !this.hasTime) break;
      this.#waiting.delete(stream);
      stream.goOn();
    }
    if (this.#waiting.size > 0) this.#until ??= this.#begin(performance.now());
  };
}

/** The connection that the bytes are of. */
export interface StreamOwner {
  /**
   * Bytes are about to be given to `node:http`.
   * @returns false: the stream discards them instead
   */
  giving(bytes: Buffer): boolean;
  /** The announced length of the body of the request whose head came last; 0: none is to come. */
  readonly bodyBytes: number;
  /** The client has closed its sending side, and all that it sent was given. */
  inputEnded(stream: RequestStream): void;
  /** Something was thrown when they were. */
  readonly fail: (error: unknown) => void;
}

export class RequestStream extends Duplex {
  readonly owner: StreamOwner;
  readonly #socket: Socket;
  readonly #turns: Turns;
  #held: Buffer[] = [];
  /** Of the body that is coming, where its length was announced. */
  #bodyBytes = 0;
  #hasEnded = false;

  constructor(socket: Socket, owner: StreamOwner, turns: Turns) {
    super({ decodeStrings: false, writableHighWaterMark: socket.writableHighWaterMark });
    this.owner = owner;
    this.#socket = socket;
    this.#turns = turns;
    this.on('resume', () => this.#wait());
    this.on('error', () => {});
    socket.once('close', () => this.destroy());
  }

  /** `request.socket` is this stream, and handlers ask it who sends. */
  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** @param bytes what came on the socket */
  receive(bytes: Buffer): void {
    if (this.#held.length === 0 && this.#turns.hasTime) this.#give(bytes);
    else this.#hold(bytes);
  }

  /** The other side sends nothing more. */
  endInput(): void {
    this.#hasEnded = true;
    if (this.#held.length === 0) this.owner.inputEnded(this);
  }

  /** Its turn: gives one piece of what is held. */
  goOn(): void {
    if (this.#held.length === 0 || this.destroyed) return;
    const bytes = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#held = [];
    this.#give(bytes);
    if (this.#held.length > 0) return;
    if (this.#hasEnded) this.owner.inputEnded(this);
    else this.#socket.resume();
  }

  /** Gives one piece, and as much of its body as keeps no other stream waiting. */
  #give(bytes: Buffer): void {
    for (let rest = bytes; ;) {
      if (this.isPaused()) return this.#hold(rest);
      const piece = this.#bodyBytes > 0 ? partOf(rest, this.#bodyBytes) : firstPiece(rest);
      if (!this.owner.giving(piece)) return;
      try {
        this.push(piece);
      } catch (error) {
        this.owner.fail(error);
      }
      if (this.#bodyBytes > 0) this.#bodyBytes -= piece.length;
      else if (piece.subarray(-emptyLine.length).equals(emptyLine)) {
        this.#bodyBytes = this.owner.bodyBytes;
      }
      if (this.destroyed || piece.length === rest.length) return;
      rest = rest.subarray(piece.length);
      if (this.#bodyBytes === 0 || !this.#turns.isFree) return this.#hold(rest);
    }
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#socket.pause();
    this.#wait();
  }

  #wait(): void {
    if (this.#held.length > 0 && !this.isPaused()) this.#turns.add(this);
  }

  /** As the method of a socket, which `node:http` calls after the last answer. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  /** What there is is pushed as it comes. */
  override _read(): void {}

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#socket.write(chunk, encoding, done);
  }

  override _writev(chunks: readonly Written[], done: Done): void {
    const last = chunks.length - 1;
    this.#socket.cork();
    for (const [at, { chunk, encoding }] of chunks.entries()) {
      this.#socket.write(chunk, encoding, at === last ? done : undefined);
    }
    this.#socket.uncork();
  }

  override _final(done: Done): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#held = [];
    this.#socket.destroy();
    done(error);
  }
}

type Done = (error?: Error | null) => void;
type Written = { readonly chunk: Buffer | string; readonly encoding: BufferEncoding };

function firstPiece(bytes: Buffer): Buffer {
  const part = partOf(bytes, pieceBytesMax);
  const found = part.indexOf(emptyLine);
  return found < 0 ? part : partOf(part, found + emptyLine.length);
}

function partOf(bytes: Buffer, most: number): Buffer {
  const length = Math.min(most, pieceBytesMax);
  return bytes.length > length ? bytes.subarray(0, length) : bytes;
}
