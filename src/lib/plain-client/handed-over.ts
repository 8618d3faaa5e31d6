import { Duplex } from 'node:stream';
import type { PlainSocket } from './plain-connection.ts';

/**
 * A plain connection's socket, as undici reads and writes it from an odd answer on. The request was
 * sent by then: so the one that undici writes is swallowed, and then it is given the answer from
 * where on it was odd. What is asked on the connection afterwards goes through as it is.
 */
export class HandedOver extends Duplex {
  readonly #socket: PlainSocket;
  /** What came before undici has written the request; null: it has. */
  #held: Buffer[] | null;
  #isEnded = false;
  #error: Error | undefined;
  /** Of the socket, since the request was sent. */
  bytesRead: number;

  /** @param replay what undici reads first, `bytesRead` of the socket or less */
  constructor(socket: PlainSocket, replay: readonly Buffer[], bytesRead: number) {
    super({ readableHighWaterMark: 64 * 1024 });
    this.#socket = socket;
    this.#held = replay.filter(({ length }) => length > 0);
    this.bytesRead = bytesRead;
  }

  /** @returns whether there is room for more */
  brought(bytes: Buffer): boolean {
    if (this.destroyed) return true;
    this.bytesRead += bytes.length;
    if (this.#held === null) return this.push(bytes);
    this.#held.push(bytes);
    return true;
  }

  /** The other side has sent its last. */
  cameToEnd(): void {
    this.#isEnded = true;
    if (this.#held === null) this.push(null);
  }

  /** Nothing comes and goes any more. What has come is read before. */
  lost(error?: Error): void {
    this.#error ??= error;
    if (this.#held !== null || (this.#isEnded && error === undefined)) return;
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

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#held === null) {
      this.#socket.write(bytes, done);
      return;
    }
    process.nextTick(() => this.#replay());
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #replay(): void {
    const held = this.#held;
    if (held === null) return;
    this.#held = null;
    for (const bytes of held) this.push(bytes);
    if (this.#isEnded) this.push(null);
    if (this.#error !== undefined || this.#socket.destroyed) this.lost(this.#error);
  }
}
