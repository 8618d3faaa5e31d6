/**
 * What `node:http` reads of a connection and writes to it: a stream of svc's own over the socket,
 * as the event 'connection' of `http.Server` takes any Duplex
 * (https://nodejs.org/api/http.html#event-connection). The socket stays with svc, so Node's server
 * never meets a socket that somebody else reads from.
 *
 * A socket gives up to 64 KiB at once, which may be two thousand requests, and Node begins all of a
 * piece before anything else runs. So the stream gives one piece at once, and each later piece in
 * the connection's turn. A piece ends behind an empty line where another one follows; a head ends
 * with an empty line, so a piece begins one request, or two where an empty line came in two reads.
 *
 * Flowing → waiting for a turn (bytes are held, the socket is paused) → flowing. Nothing is given
 * while Node has paused the stream, as it does while answers are not taken or a body is not read.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Pieces that all connections together give in one turn of the event loop. */
const piecesMax = 64;
const emptyLine = Buffer.from('\r\n\r\n');

/** Streams that hold bytes. The one that has waited for longest is first. */
export class Turns {
  readonly #waiting = new Set<RequestStream>();
  #isDue = false;

  add(stream: RequestStream): void {
    this.#waiting.add(stream);
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#take);
  }

  readonly #take = (): void => {
    this.#isDue = false;
    const first = [...this.#waiting.values().take(piecesMax)];
    for (const stream of first) this.#waiting.delete(stream);
    // Streams that are added meanwhile come behind those that are left.
    for (const stream of first) stream.goOn();
    const [next] = this.#waiting;
    if (next !== undefined) this.add(next);
  };
}

/** The connection that the bytes are of. */
export interface StreamOwner {
  /**
   * Bytes are about to be given to `node:http`.
   * @returns false: they are thrown away instead
   */
  giving(bytes: Buffer): boolean;
  /** All was given, and nothing more comes. */
  ended(stream: RequestStream): void;
  /** Something was thrown when they were. */
  readonly fail: (error: unknown) => void;
}

export class RequestStream extends Duplex {
  readonly owner: StreamOwner;
  readonly #socket: Socket;
  readonly #turns: Turns;
  #held: Buffer[] = [];
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
    if (this.#held.length > 0) this.#hold(bytes);
    else this.#give(bytes);
  }

  /** The other side sends nothing more. */
  endInput(): void {
    this.#hasEnded = true;
    if (this.#held.length === 0) this.owner.ended(this);
  }

  /** Its turn: gives one piece of what is held. */
  goOn(): void {
    if (this.#held.length === 0 || this.destroyed) return;
    const bytes = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#held = [];
    this.#give(bytes);
    if (this.#held.length > 0) return;
    if (this.#hasEnded) this.owner.ended(this);
    else this.#socket.resume();
  }

  #give(bytes: Buffer): void {
    if (this.isPaused()) return this.#hold(bytes);
    const end = endOfPiece(bytes);
    const piece = end === bytes.length ? bytes : bytes.subarray(0, end);
    if (!this.owner.giving(piece)) return;
    try {
      this.push(piece);
    } catch (error) {
      this.owner.fail(error);
    }
    if (end < bytes.length && !this.destroyed) this.#hold(bytes.subarray(end));
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

function endOfPiece(bytes: Buffer): number {
  const found = bytes.indexOf(emptyLine);
  if (found < 0) return bytes.length;
  const behind = found + emptyLine.length;
  return bytes.indexOf(emptyLine, behind) < 0 ? bytes.length : behind;
}
