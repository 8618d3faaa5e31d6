/**
 * Two sockets without a network, one for undici and one for the plain client. They hand bytes over
 * at once and in the given order, so that a case has the same result every time.
 */
import { EventEmitter } from 'node:events';
import type { NetConnectOpts } from 'node:net';
import { Duplex } from 'node:stream';
import type { PlainSocket } from '../../../src/lib/plain-client/plain-connection.ts';

export interface MemorySocket {
  readonly destroyed: boolean;
  /** The written requests, with head and body. */
  readonly written: string;
  brings(bytes: Buffer): void;
  /** The other side has sent its last. */
  ends(): void;
  /** The other side has reset the connection. */
  resets(): void;
}

const reset = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

export class StreamSocket extends Duplex implements MemorySocket {
  written = '';
  bytesRead = 0;

  constructor() {
    super({ readableHighWaterMark: 64 * 1024, allowHalfOpen: false });
  }

  brings(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.push(bytes);
  }

  ends(): void {
    if (!this.destroyed) this.push(null);
  }

  resets(): void {
    this.destroy(reset());
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.written += bytes.toString();
    done();
  }

  ref(): void {}
  unref(): void {}
}

/** Reads into the given buffer, as `onread` of node:net does. */
export class BufferSocket extends EventEmitter implements MemorySocket {
  destroyed = false;
  written = '';
  /** All is sent at once. */
  readonly writableLength = 0;
  readonly #onread: NonNullable<NetConnectOpts['onread']>;

  constructor({ onread }: NetConnectOpts) {
    super();
    this.#onread = onread!;
    setImmediate(() => this.emit('connect'));
  }

  brings(bytes: Buffer): void {
    const buffer = this.#onread.buffer as Uint8Array;
    if (bytes.length > buffer.length) throw new Error('a read is no longer than its buffer');
    if (this.destroyed) return;
    buffer.set(bytes);
    this.#onread.callback(bytes.length, buffer);
    // A later look into the buffer finds another connection's bytes.
    buffer.fill(0x58, 0, bytes.length);
  }

  ends(): void {
    if (!this.destroyed) this.emit('end');
    setImmediate(() => this.destroy());
  }

  resets(): void {
    if (!this.destroyed) this.emit('error', reset());
    this.destroy();
  }

  write(text: string | Uint8Array, after?: unknown): boolean {
    this.written += typeof text === 'string' ? text : Buffer.from(text).toString();
    if (typeof after === 'function') after();
    return true;
  }

  destroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    setImmediate(() => this.emit('close'));
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  resume(): this {
    return this;
  }

  cork(): void {}
  uncork(): void {}
}

export const asPlainSocket = (socket: BufferSocket): PlainSocket =>
  socket as unknown as PlainSocket;
