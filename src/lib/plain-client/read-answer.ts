/**
 * Reads the answers that are as plain as nearly all are, strictly, where they lie: the head whole
 * in one read, HTTP/1.1, a final status, one Content-Length or none but `chunked`, every header
 * once. Of all else it says that it is odd, and from where on: somebody else is to read that.
 *
 * It decides nothing about what is odd. So it cannot decide it otherwise than undici.
 *
 * Format: RFC 9112, 4 to 7
 */
import type { Headers } from '../http-client/exchange.ts';

/** Hears of an answer as it comes. */
export interface AnswerReceiver {
  head(status: number, headers: Headers): void;
  part(part: Buffer, borrowed: true): void;
  /** No more is wanted. */
  readonly isOver: boolean;
}

/**
 * more: all was read, and the answer is not whole; whole: it is, and what is behind it stands at
 * `at`; odd: it is to be read by undici, from `replay` on.
 */
export type Reading = 'more' | 'whole' | 'odd';

type State = 'head' | 'length' | 'chunk' | 'chunk-data' | 'chunk-end';

const headBytesMax = 16 * 1024;
const chunkDigitsMax = 7;
const lengthDigitsMax = 15;
const headEnd = Buffer.from('\r\n\r\n');
const statusLine = /HTTP\/1\.1 ([2-5]\d\d) [\t\x20-\x7e]*\r\n/y;
const headerLine = /([A-Za-z][\dA-Za-z-]*): ([!-~](?:[\t -~]*[!-~])?)\r\n/y;
/** What says how an answer is framed or what becomes of the connection, beside what is read. */
const framing = new Set(['proxy-connection', 'upgrade', 'trailer']);
const none = Buffer.alloc(0);
const oneByteChunk = Buffer.from('1\r\nx');

/** Of one connection; `begin` before each answer. */
export class AnswerReader {
  /** Where the bytes of the last read are that were not read. */
  at = 0;
  /**
   * What undici is to read before the bytes at `at`, so that it stands where the reader stood: the
   * head again, if there was one, and where the end of a chunk is odd, a chunk of one byte.
   */
  replay: readonly Buffer[] = [];
  /** How many bytes of a body are in `replay`. */
  replayedBody = 0;
  /** What the answer hints at: how long the connection is kept; null: nothing. */
  keepAliveMs: number | null = null;
  #state: State = 'head';
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;
  #head: Buffer = none;

  begin(): void {
    this.#state = 'head';
    this.#head = none;
    this.keepAliveMs = null;
  }

  /** @param bytes what was read; may be overwritten afterwards */
  read(bytes: Buffer, to: AnswerReceiver): Reading {
    this.at = 0;
    if (this.#state === 'head' && !this.#readHead(bytes, to)) return this.#odd(0);
    while (!to.isOver) {
      if (this.#state === 'length' || this.#state === 'chunk-data') {
        const end = Math.min(bytes.length, this.at + this.#left);
        if (end > this.at) to.part(bytes.subarray(this.at, end), true);
        this.#left -= end - this.at;
        this.at = end;
        if (this.#left > 0) return 'more';
        if (this.#state === 'length') return 'whole';
        this.#state = 'chunk-end';
      }
      if (this.at === bytes.length) return 'more';
      const reading = this.#readChunkLine(bytes);
      if (reading !== 'more') return reading;
    }
    return 'more';
  }

  /** @returns false: it is odd, and nothing has been told of it */
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
      this.#left = 0;
      return length === undefined && coding === undefined ? 'length' : null;
    }
    if (length === undefined) return coding?.toLowerCase() === 'chunked' ? 'chunk' : null;
    if (coding !== undefined || length.length > lengthDigitsMax) return null;
    if (!/^\d+$/.test(length)) return null;
    this.#left = Number(length);
    return 'length';
  }

  /** The line with the size of a chunk, or the one that ends it. */
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
      this.#left = size;
      this.#state = 'chunk-data';
      this.at = at + 2;
      return 'more';
    }
    // A trailer is odd.
    if (bytes[at + 2] !== cr || bytes[at + 3] !== lf) return this.#odd(start);
    this.at = at + 4;
    return 'whole';
  }

  #odd(at: number, chunk = none): Reading {
    this.at = at;
    this.replay = [this.#head, chunk];
    this.replayedBody = chunk === none ? 0 : 1;
    return 'odd';
  }
}

const cr = 0x0d;
const lf = 0x0a;

/** @returns null: one of them is odd, or comes twice */
function readHeaders(text: string, start: number): Record<string, string> | null {
  const headers: Record<string, string> = {};
  // The last two bytes are the empty line.
  for (headerLine.lastIndex = start; headerLine.lastIndex < text.length - 2;) {
    const line = headerLine.exec(text);
    if (line === null) return null;
    const name = line[1]!.toLowerCase();
    // Also what every object has.
    if (headers[name] !== undefined || framing.has(name)) return null;
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
