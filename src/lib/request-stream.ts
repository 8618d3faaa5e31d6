/**
 * The stream that `node:http` reads and writes for a connection. It is svc's own stream over the
 * socket: the event 'connection' of `http.Server` accepts any Duplex
 * (https://nodejs.org/api/http.html#event-connection). svc keeps the socket, so Node's server never
 * meets a socket that other code reads from.
 *
 * A socket gives up to 64 KiB at once, which may be two thousand requests. Node begins all requests
 * of a piece before anything else runs. So the stream gives short pieces, each in a time slice of
 * its connection. A piece ends behind an empty line, like a head. So it begins one request, or two
 * if an empty line was cut. A body of known length goes with its head, unless another stream waits.
 *
 * Flowing → waiting for a time slice (bytes are held, the socket is paused) → flowing. The stream
 * gives nothing while Node has paused it. Node does that while a client does not read its answers,
 * or while a handler does not read a body.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const pieceBytesMax = 2 * 1024;
/** How long one turn of the event loop may give pieces to `node:http`, in milliseconds. */
const turnMs = 1;
const emptyLine = Buffer.from('\r\n\r\n');

/** The time that all connections together may take in one turn of the event loop. */
export class TimeSlices {
  /** Streams with held bytes, the one that has waited for longest first. */
  readonly #waiting = new Set<RequestStream>();
  /** The end of this turn's time; null: nothing was given in this turn. */
  #until: number | null = null;

  /** Whether a stream may give a piece in this turn. */
  get hasTime(): boolean {
    const now = performance.now();
    this.#until ??= this.#begin(now);
    return now < this.#until;
  }

  /** Whether no other stream waits, and there is time. */
  get isFree(): boolean {
    return this.#waiting.size === 0 && this.hasTime;
  }

  /** The stream will give a piece in a later turn. */
  add(stream: RequestStream): void {
    this.#waiting.add(stream);
    this.#until ??= this.#begin(performance.now());
  }

  #begin(now: number): number {
    setImmediate(this.#giveSlices);
    return now + turnMs;
  }

  readonly #giveSlices = (): void => {
    this.#until = null;
    // Streams that are added meanwhile go to the end of the list.
    let left = this.#waiting.size;
    for (const stream of this.#waiting) {
      if (left-- === 0 || !this.hasTime) break;
      this.#waiting.delete(stream);
      stream.giveNext();
    }
    if (this.#waiting.size > 0) this.#until ??= this.#begin(performance.now());
  };
}

/** The connection of the stream. */
export interface StreamOwner {
  /**
   * Called before bytes go to `node:http`.
   * @returns false: the stream discards the bytes instead
   */
  beforePush(bytes: Buffer): boolean;
  /** The announced length of the body of the last request whose head came; 0: no body follows. */
  readonly bodyBytes: number;
  /** The client has closed its sending side, and `node:http` has all its bytes. */
  inputEnded(stream: RequestStream): void;
  /** Called with an error that `node:http` threw when it got bytes. */
  readonly fail: (error: unknown) => void;
}

export class RequestStream extends Duplex {
  readonly owner: StreamOwner;
  readonly #socket: Socket;
  readonly #slices: TimeSlices;
  #held: Buffer[] = [];
  /** The rest of the present body, if its length was announced. */
  #bodyBytes = 0;
  #hasEnded = false;

  constructor(socket: Socket, owner: StreamOwner, turns: TimeSlices) {
    super({ decodeStrings: false, writableHighWaterMark: socket.writableHighWaterMark });
    this.owner = owner;
    this.#socket = socket;
    this.#slices = turns;
    this.on('resume', () => this.#queueSlice());
    this.on('error', () => {});
    socket.once('close', () => this.destroy());
  }

  /** `request.socket` is this stream, and handlers read the client's address from it. */
  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** @param bytes the bytes from the socket */
  receive(bytes: Buffer): void {
    if (this.#held.length === 0 && this.#slices.hasTime) this.#give(bytes);
    else this.#hold(bytes);
  }

  /** The other side sends nothing more. */
  endInput(): void {
    this.#hasEnded = true;
    if (this.#held.length === 0) this.owner.inputEnded(this);
  }

  /** Gives one piece of the held bytes, in a time slice. */
  giveNext(): void {
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
      if (!this.owner.beforePush(piece)) return;
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
      if (this.#bodyBytes === 0 || !this.#slices.isFree) return this.#hold(rest);
    }
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#socket.pause();
    this.#queueSlice();
  }

  #queueSlice(): void {
    if (this.#held.length > 0 && !this.isPaused()) this.#slices.add(this);
  }

  /** A method of sockets that `node:http` calls after the last answer. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  /** The stream pushes bytes as they come. */
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
