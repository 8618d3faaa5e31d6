/** Bodies of requests and answers, with the limits on what the other side may send. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The end of a request's body. `broken_off`: the client was gone before the end of the body. */
export type BodyEnd =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  /** `count`: the bytes that had come by then. */
  | { readonly kind: 'too_large'; readonly count: number }
  | { readonly kind: 'broken_off' };

/**
 * Collects a request's body and counts its bytes. It discards the rest of a body that is too large,
 * for as long as the listener allows a request. Never rejects.
 */
export function collectBody(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
): Promise<BodyEnd> {
  const declared = Number(request.headers['content-length']);
  if (declared > bytesMax) return Promise.resolve({ kind: 'too_large', count: 0 });
  // Behind an unanswered request, Node would write the interim answer into that one's final answer.
  const isNext = response.socket !== null;
  if (expectsContinue(request) && isNext) response.writeContinue();
  return new Promise((resolve) => {
    let parts: Buffer[] = [];
    let count = 0;
    request.on('data', (part: Buffer) => {
      count += part.length;
      if (count <= bytesMax) {
        parts.push(part);
      } else {
        parts = [];
        resolve({ kind: 'too_large', count });
      }
    });
    request.on('end', () => {
      resolve({ kind: 'whole', bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts) });
    });
    request.on('close', () => resolve({ kind: 'broken_off' }));
  });
}

/** HTTP/1.0 has no interim answer: https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1 */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion !== '1.0' && /^100-continue$/i.test(headers.expect ?? '');
}

/**
 * The body of one answer, and the limits for all other bytes from the server: interim answers, and
 * the bytes around the body (heads, chunk sizes, chunk extensions). Without the limits, a few
 * endless answers would keep the process busy, whatever the limit of the body is.
 *
 * Small parts are copied together, since a kept part would hold the whole buffer that it was read
 * into.
 */
export const interimMax = 16;
/** More than the heads of an answer and a server's certificates need. */
export const wrappingBytesMax = 256 * 1024;
/** A chunk of one byte takes six bytes. */
const wrappingPerByte = 8;
const smallBytes = 4 * 1024;
const blockBytes = 64 * 1024;

/** Read it once, at its end. */
export class AnswerBody {
  readonly #parts: Buffer[] = [];
  #block: Buffer | null = null;
  #blockUsed = 0;
  #bytes = 0;
  #interims = 0;

  /** Bytes of the body so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * @param kept false: the part only counts
   * @param borrowed the buffer is overwritten afterwards
   */
  add(part: Buffer, kept = true, borrowed = false): void {
    const first = this.#bytes === 0;
    this.#bytes += part.length;
    if (!kept) return;
    if (first || part.length >= smallBytes) {
      this.#endBlock();
      this.#parts.push(borrowed ? Buffer.from(part) : part);
      return;
    }
    if (this.#block === null || this.#block.length - this.#blockUsed < part.length) {
      this.#endBlock();
      this.#block = Buffer.allocUnsafeSlow(blockBytes);
    }
    this.#blockUsed += part.copy(this.#block, this.#blockUsed);
  }

  /**
   * Counts an interim answer (status 1xx).
   * @returns whether there are now too many
   */
  addInterim(): boolean {
    return ++this.#interims > interimMax;
  }

  /** @param readBytes all bytes of the connection since the request began */
  isFlooded(readBytes: number): boolean {
    return readBytes > wrappingBytesMax + wrappingPerByte * this.#bytes;
  }

  /** The whole body so far. */
  read(): Buffer {
    this.#endBlock();
    return this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
  }

  clear(): void {
    this.#parts.length = 0;
    this.#block = null;
  }

  #endBlock(): void {
    if (this.#block !== null) this.#parts.push(this.#block.subarray(0, this.#blockUsed));
    this.#block = null;
    this.#blockUsed = 0;
  }
}

/**
 * Whether a Content-Type is JSON: `application/json` in any case. A charset must be utf-8; other
 * parameters do not matter. Format: RFC 9110, section 8.3.
 */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';');
  if (type!.trim() !== 'application/json') return false;
  return parameters.every((parameter) => {
    const [name, value = ''] = parameter.split('=');
    return name!.trim() !== 'charset' || /^\s*(utf-8|"utf-8")\s*$/.test(value);
  });
}

/**
 * Whether a Content-Encoding says that the body is not compressed. Format: RFC 9110, section 8.4.
 */
export function isUncompressed(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^\s*(identity\s*)?$/i.test(contentEncoding);
}
