/**
 * The quick way into a connection: a plain request that comes whole is read and answered here,
 * beside `node:http`, in a third of its time. All else is given to `node:http` unread, which knows
 * of every connection from its first moment and goes on to count its time; so every refusal, every
 * limit and every odd form of a request stays where it is.
 *
 * The first request of a connection goes to `node:http` in any case: until it has come, that counts
 * the time from the first moment, and afterwards it takes the connection for an idle one. From then
 * on bytes are taken only where `node:http` has been given nothing but plain, whole requests and
 * has answered them, so that it stands between two requests; once it was given anything else, the
 * connection is its own to the end.
 *
 * First → open (a request is taken or given whole) → closed (something else was given).
 */
import type { Socket } from 'node:net';
import { answerText, type Answer } from './answer-text.ts';
import { readRequest, type PlainRequest } from './read-request.ts';

/**
 * Answers what `node:http` would have to answer with the same bytes. Only a request that brought a
 * right bearer is taken.
 * @returns null: it is to be given to `node:http`, as if nobody had seen it; the promise never
 *   rejects
 */
export type QuickHandler = (request: PlainRequest) => Promise<Answer> | null;

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
  /** A request was taken; what comes before it is answered is held. */
  beginQuick(): void;
  /** Its answer has gone out, or cannot any more. */
  endQuick(): void;
}

/** What becomes of bytes: they are taken, or given to `node:http`, a plain request or not. */
export type Looked = 'taken' | 'plain' | 'other';

export class QuickWay {
  readonly #socket: Socket;
  readonly #door: QuickDoor;
  readonly #host: QuickHost;
  #isFirst = true;

  constructor(socket: Socket, door: QuickDoor, host: QuickHost) {
    this.#socket = socket;
    this.#door = door;
    this.#host = host;
  }

  /** @param bytes all that came, where a request begins */
  readonly look = (bytes: Buffer): Looked => {
    const handle = this.#door.handler();
    if (handle === undefined) return 'other';
    const request = readRequest(bytes);
    if (request === null) return 'other';
    const mayTake = !this.#isFirst && this.#socket.writable && this.#host.isPlain;
    this.#isFirst = false;
    const answering = mayTake ? handle(request) : null;
    if (answering === null) return 'plain';
    this.#host.beginQuick();
    void answering.then((answer) => this.#write(answer));
    return 'taken';
  };

  #write(answer: Answer): void {
    if (!this.#socket.writable) {
      this.#host.endQuick();
      return;
    }
    const text = answerText(answer, this.#door.keepAliveMs, Date.now());
    this.#socket.write(text, () => this.#host.endQuick());
  }
}
