/**
 * Gives a connection's bytes to Node's HTTP server request by request, where Node itself would have
 * every request of a piece of 64 KiB begun before it does anything else. Of what came at once, the
 * first request is begun at once; those behind it wait for their connection's turn, and reading
 * waits while so many are unanswered. So neither pipelining nor a client that reads no answers
 * holds up the others.
 *
 * A request ends with an empty line, and then with as many bytes as its Content-Length says; a
 * chunked body ends with an empty line, too. What is cut elsewhere is only given in smaller pieces.
 *
 * Waiting for bytes → giving → held (bytes are left, reading is paused) → giving …
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Looked } from './quick-way/quick-way.ts';

/** Requests of one connection that are unanswered; also those begun in one turn. */
export const unansweredMax = 16;
/** Requests that all connections together begin in their turns, in one turn of the event loop. */
const begunMax = 64;
/** Only an odd chunked body comes to more pieces than requests. */
const piecesPerRequest = 4;
const emptyLine = Buffer.from('\r\n\r\n');

/** Connections with requests that wait to be begun, the longest first. */
export class Turns {
  readonly #waiting = new Set<PacedReading>();
  #due = false;

  add(reading: PacedReading): void {
    this.#waiting.add(reading);
    if (this.#due) return;
    this.#due = true;
    setImmediate(() => this.#take());
  }

  #take(): void {
    this.#due = false;
    const before = [...this.#waiting];
    let begun = 0;
    for (const reading of before) {
      if (begun >= begunMax) break;
      this.#waiting.delete(reading);
      begun += reading.goOn();
    }
    if (this.#waiting.size > 0 && !this.#due) {
      this.#due = true;
      setImmediate(() => this.#take());
    }
  }
}

export class PacedReading {
  readonly #socket: Socket;
  readonly #turns: Turns;
  readonly #give: (piece: Buffer) => void;
  #held: Buffer[] = [];
  /** Of the body that is declared, what has not come yet. */
  #bodyBytes = 0;
  /** What the piece that is being given has behind its empty line. */
  #behindHead = 0;
  #begun = 0;
  #unanswered = 0;
  /** The unanswered one was taken before Node saw it. */
  #isTaken = false;
  /** null: it cannot be told any more where a request begins. */
  #look: ((bytes: Buffer) => Looked) | null;

  /**
   * @param socket of a 'connection' event, once the HTTP server has heard it
   * @param look looks first at what comes while nothing is unanswered
   */
  constructor(socket: Socket, turns: Turns, look: ((bytes: Buffer) => Looked) | null = null) {
    this.#socket = socket;
    this.#turns = turns;
    this.#look = look;
    const server = socket.listeners('data') as ((piece: Buffer) => void)[];
    this.#give = (piece) => {
      for (const listen of server) listen.call(socket, piece);
    };
    socket.on('data', this.#take);
    for (const listen of server) socket.off('data', listen);
  }

  /** Unanswered requests of now. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** To be called when a request has come. */
  begin(request: IncomingMessage): void {
    const declared = Number(request.headers['content-length'] ?? 0);
    this.#bodyBytes = Math.max(0, declared - this.#behindHead);
    this.#begun++;
    this.#unanswered++;
  }

  /** Whether the unanswered one was taken before Node saw it. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** To be called when a request was taken: what comes until its `end` is held. */
  beginTaken(): void {
    this.#isTaken = true;
    this.#unanswered++;
  }

  /** To be called when an answer has gone out, or cannot any more. */
  end(): void {
    this.#unanswered--;
    this.#isTaken = false;
    if (this.#held.length > 0) this.#turns.add(this);
  }

  /** Its turn. @returns how many requests were begun */
  goOn(): number {
    if (this.#held.length === 0 || this.#unanswered >= unansweredMax) return 0;
    const held = this.#held;
    this.#held = [];
    this.#giveSome(held.length === 1 ? held[0]! : Buffer.concat(held), unansweredMax);
    if (this.#held.length === 0) this.#socket.resume();
    return this.#begun;
  }

  readonly #take = (bytes: Buffer): void => {
    if (this.#look !== null) {
      const isNext = this.#unanswered === 0 && this.#held.length === 0;
      const looked = isNext ? this.#look(bytes) : 'other';
      if (looked === 'taken') return;
      if (looked === 'other') this.#look = null;
    }
    if (this.#held.length > 0 || this.#isTaken) this.#hold(bytes);
    else this.#giveSome(bytes, 1);
  };

  #giveSome(bytes: Buffer, requests: number): void {
    this.#begun = 0;
    let at = 0;
    for (let left = requests * piecesPerRequest; at < bytes.length; left--) {
      if (this.#socket.destroyed) return;
      const full = this.#unanswered >= unansweredMax;
      const mayBegin = !full && this.#begun < requests;
      if (left === 0 || (!mayBegin && this.#bodyBytes === 0)) {
        this.#hold(bytes.subarray(at));
        if (!full) this.#turns.add(this);
        return;
      }
      const end = this.#endOfPiece(bytes, at);
      this.#give(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
      at = end;
    }
  }

  /** A piece has at most one empty line outside a body whose length is known. */
  #endOfPiece(bytes: Buffer, at: number): number {
    if (this.#bodyBytes > 0) {
      const end = Math.min(bytes.length, at + this.#bodyBytes);
      this.#bodyBytes -= end - at;
      return end;
    }
    const found = bytes.indexOf(emptyLine, at);
    const behind = found < 0 ? bytes.length : found + emptyLine.length;
    const end = bytes.indexOf(emptyLine, behind) < 0 ? bytes.length : behind;
    this.#behindHead = end - behind;
    return end;
  }

  /** Node may have the reading go on by itself: what then comes is held as well. */
  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#socket.pause();
  }
}
