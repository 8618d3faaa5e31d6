/**
 * The quick way into a connection: a plain request that comes whole, or whose body alone comes
 * later, is read and answered here, without `node:http`, in half of its time. Everything else is
 * left, unread, and from those bytes on the connection is `node:http`'s; so every refusal and every
 * odd form of a request stays where it is.
 *
 * Reading → (the body is to come → reading) → answering (what comes is kept, reading is paused) →
 * reading … → left (nothing is read here any more).
 */
import type { Socket } from 'node:net';
import { answerText, type Answer } from './answer-text.ts';
import { readRequest, type PlainRequest } from './read-request.ts';

/**
 * Answers what `node:http` would have to answer with the same bytes. Only a request that brought a
 * right bearer is taken.
 * @returns null: it is left to `node:http`, as if nobody had seen it. For a request whose body is
 *   to come: 'wait' if nothing in its head speaks against taking it
 */
export type QuickHandler = (request: PlainRequest) => Promise<Answer> | 'wait' | null;

/** What a listener tells of itself. */
export type QuickDoor = {
  /** The handler of now; undefined: everything goes to `node:http`. */
  readonly handler: () => QuickHandler | undefined;
  readonly keepAliveMs: number;
};

/** The connection that it leads into. */
export interface QuickHost {
  /** Whether the next answer to a right bearer is one like all others. */
  readonly isPlain: boolean;
  /** A request was taken. */
  beginQuick(): void;
  /**
   * Its answer has gone out, or cannot any more.
   * @param rest what came meanwhile
   */
  endQuick(rest: Buffer | null): void;
  /** Something was thrown in answering. */
  fail(error: unknown): void;
}

/** A body that comes later is waited for up to this size, head included. */
const waitBytesMax = 64 * 1024;

export class QuickWay {
  readonly #socket: Socket;
  readonly #door: QuickDoor;
  readonly #host: QuickHost;
  #kept: Buffer[] = [];
  /** Of the body that is waited for. */
  #missingBytes = 0;
  /** A request was taken, and its answer has not gone out. */
  isAnswering = false;

  constructor(socket: Socket, door: QuickDoor, host: QuickHost) {
    this.#socket = socket;
    this.#door = door;
    this.#host = host;
  }

  /** A head has come whose body has not come whole. */
  get isWaiting(): boolean {
    return this.#missingBytes > 0;
  }

  /**
   * @param bytes what came on the socket
   * @returns what is left to `node:http`; null: nothing is
   */
  take(bytes: Buffer): Buffer | null {
    if (this.isAnswering) {
      this.#kept.push(bytes);
      this.#socket.pause();
      return null;
    }
    if (this.#missingBytes > bytes.length) {
      this.#kept.push(bytes);
      this.#missingBytes -= bytes.length;
      return null;
    }
    return this.#read(this.#kept.length === 0 ? bytes : this.#all(bytes));
  }

  /** @returns what there is of a request whose end does not come any more; null: nothing */
  end(): Buffer | null {
    return this.#kept.length === 0 ? null : this.#all();
  }

  #all(...more: readonly Buffer[]): Buffer {
    const all = Buffer.concat([...this.#kept, ...more]);
    this.#kept = [];
    this.#missingBytes = 0;
    return all;
  }

  #read(bytes: Buffer): Buffer | null {
    const handle = this.#door.handler();
    if (handle === undefined || !this.#socket.writable || !this.#host.isPlain) return bytes;
    const request = readRequest(bytes);
    if (request === null) return bytes;
    const { missingBytes } = request;
    if (bytes.length + missingBytes > waitBytesMax && missingBytes > 0) return bytes;
    const answering = handle(request);
    if (answering === null) return bytes;
    if (answering === 'wait') {
      this.#kept.push(bytes);
      this.#missingBytes = missingBytes;
      return null;
    }
    this.isAnswering = true;
    this.#host.beginQuick();
    answering.then(this.#write, (error: unknown) => this.#host.fail(error));
    return null;
  }

  readonly #write = (answer: Answer): void => {
    if (!this.#socket.writable) return this.#end();
    const text = answerText(answer, this.#door.keepAliveMs, Date.now());
    this.#socket.write(text, this.#end);
  };

  readonly #end = (): void => {
    this.isAnswering = false;
    const rest = this.end();
    if (rest !== null) this.#socket.resume();
    this.#host.endQuick(rest);
  };
}
