/**
 * The body of one answer as it comes in, and the bounds on what a server sends beside it: interim
 * answers, and what wraps the body (heads, chunk sizes, chunk extensions). Without them a few
 * answers without an end would keep the process busy, within any bound on the body alone.
 *
 * Small parts are copied together: a part that is kept holds all that was read with it.
 */
export const interimMax = 16;
/** Above what the heads of an answer and the certificates of a server come to. */
export const wrappingBytesMax = 256 * 1024;
/** A chunk of one byte comes in six. */
const wrappingPerByte = 8;
const smallBytes = 4 * 1024;
const blockBytes = 64 * 1024;

/** To be read once, at its end. */
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
   * @param kept false: it is counted and thrown away
   * @param borrowed it is overwritten afterwards
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

  /** One more interim answer (status 1xx). @returns whether that is one too many */
  addInterim(): boolean {
    return ++this.#interims > interimMax;
  }

  /** @param readBytes all that the connection brought since the request began */
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
