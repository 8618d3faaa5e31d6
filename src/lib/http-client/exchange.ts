/**
 * An exchange (one HTTP request and its answer), and the pool of connections that exchanges go
 * over.
 */
import type { SteadyTime } from '../clock.ts';
import { AnswerBody } from '../collect-body.ts';
import type { Deadline, Deadlines } from '../deadlines.ts';
import { Linked, LinkedSet } from '../queue.ts';
import type { Stop } from '../stop.ts';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** The only limit for a slow body. */
  readonly deadlineAt: SteadyTime;
  /** The client stops reading a longer body. */
  readonly bodyBytesMax: number;
  /**
   * For a caller that needs no body: the head is the whole answer. The client still reads the body
   * for a second and up to `bodyBytesMax`, so that it can keep the connection. Then it closes it.
   */
  readonly discardBody?: boolean;
  /** The answer has the body as bytes, and no text. */
  readonly asBytes?: boolean;
  /**
   * Called with each part of the body as it comes. The answer still has the whole body. If the
   * function throws, the call rejects.
   */
  readonly heard?: (status: number, part: Buffer, headers: AnswerHeaders) => void;
  /**
   * Connects only to this machine and to private networks, as `isNear` decides for the address. For
   * any other address the result is `connect_failed` with `farAddressCode`, and no connection
   * begins.
   */
  readonly nearOnly?: boolean;
};

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export type HttpResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: AnswerHeaders;
      /** The body as UTF-8; empty if the caller asked for bytes. */
      readonly body: string;
      /** Absent: the caller did not ask for bytes. */
      readonly bytes?: Uint8Array;
    }
  | {
      readonly kind: 'fault';
      readonly fault: HttpFault;
      /** The request may have reached the other side. */
      readonly sent: boolean;
      /**
       * The system's name of the error (ECONNREFUSED, …), or null. It has no address and no secret.
       */
      readonly code: string | null;
    };

export type HttpFault =
  | 'connect_failed'
  | 'connect_timeout'
  | 'connection_lost'
  | 'timeout'
  | 'answer_too_large'
  | 'cancelled';

/** A connection carries one exchange at a time. */
export abstract class Connection extends Linked {
  /** Sends the request of an exchange, or gives it back to `Connections.take`. */
  abstract begin(exchange: Exchange): void;
  /** Ends the exchange under way, and closes. Resolves once the socket is closed. */
  abstract destroy(): Promise<void>;
}

/** The time for a body that the caller does not want, after its status came. */
export const drainMs = 1_000;

/** Asks a server not to compress its body: without this header it may (RFC 9110, 12.5.3). */
export const identityEncoding = { name: 'accept-encoding', value: 'identity' } as const;

/** Whether the client reads the body, and the caller has not set this header. */
export function needsIdentityEncoding({ headers, discardBody }: HttpRequest): boolean {
  if (discardBody === true) return false;
  for (const name in headers) {
    if (
      name.length === identityEncoding.name.length &&
      name.toLowerCase() === identityEncoding.name
    )
      return false;
  }
  return true;
}

/** The same codes as undici's, for both kinds of connection. */
export const closedCode = 'UND_ERR_SOCKET';
const destroyedCode = 'UND_ERR_DESTROYED';
export const connectTimeoutCode = 'UND_ERR_CONNECT_TIMEOUT';

/**
 * One request and its answer. Waiting for a connection → begun (on one) → settled. It settles once:
 * by the end of the body, an error, the deadline or a stop. If it settles early, the connection
 * closes, or is never used.
 *
 * If the caller does not want the body, the head settles the exchange. The client still reads the
 * body, within its size limit and `drainMs`, so that it can use the connection again. A longer
 * body closes the connection.
 */
export class Exchange extends Linked {
  readonly request: HttpRequest;
  /** The text of the request, only for a plain connection. */
  text: string | null = null;
  /** The queue of exchanges that wait for a connection, if this one waits. */
  waitingList: LinkedSet<Exchange> | null = null;
  readonly #stop: Stop | undefined;
  readonly #resolve: (result: HttpResult) => void;
  readonly #reject: (error: unknown) => void;
  #deadlines: Deadlines | null = null;
  /** Closes the connection of the exchange; null: the request has not been sent. */
  #giveUp: (() => void) | null = null;
  #deadline: Deadline | null = null;
  #settled = false;
  /** The exchange is settled, and the client reads its body only to keep the connection. */
  #isDraining = false;
  #status = 0;
  #skipped = 0;
  #headers: AnswerHeaders = {};
  readonly #body = new AnswerBody();

  /** @param reject called with the error that `heard` of the request threw */
  constructor(
    request: HttpRequest,
    stop: Stop | undefined,
    resolve: (result: HttpResult) => void,
    reject: (error: unknown) => void,
  ) {
    super();
    this.request = request;
    this.#stop = stop;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** The exchange needs no more bytes. */
  get isOver(): boolean {
    return this.#settled && !this.#isDraining;
  }

  /** Settles the exchange at its deadline, or at a stop. The stop may have happened already. */
  watch(deadlines: Deadlines): void {
    if (this.#stop?.stopped === true) return this.#cancel();
    this.#deadlines = deadlines;
    this.#deadline = deadlines.at(this.request.deadlineAt, () => this.#fail('timeout', null));
    this.#stop?.listen(this.#cancel);
  }

  /**
   * From now on the request may reach the other side.
   * @param giveUp closes the connection; called at once if the exchange is over
   */
  begun(giveUp: () => void): void {
    this.#giveUp = giveUp;
    if (this.isOver) giveUp();
  }

  /** @param status 1xx: an interim answer */
  head(status: number, headers: AnswerHeaders): void {
    if (status < 200) {
      if (this.#body.addInterim()) this.#fail('answer_too_large', null);
      return;
    }
    // After a hand-over to undici the head comes a second time.
    if (this.#settled) return;
    this.#status = status;
    this.#headers = headers;
    if (this.request.discardBody !== true) return;
    this.#settle(this.#answer(''));
    this.#isDraining = true;
    this.#deadline = this.#deadlines!.after(drainMs, () => this.#fail('timeout', null));
  }

  /** Skips the next bytes of the body: the exchange has them already, and they come again. */
  skip(bytes: number): void {
    this.#skipped = bytes;
  }

  /** @param borrowed the buffer is overwritten afterwards */
  part(bytes: Buffer, borrowed = false): void {
    if (this.isOver) return;
    const part = this.#skipped === 0 ? bytes : bytes.subarray(this.#skipped);
    this.#skipped = 0;
    if (this.#body.bytes + part.length > this.request.bodyBytesMax) {
      this.#fail('answer_too_large', null);
    } else {
      this.#body.add(part, this.request.discardBody !== true, borrowed);
      this.#reportPart(borrowed ? Buffer.from(part) : part);
    }
  }

  /** A socket's event handler calls this, so an error of `heard` would end the process. */
  #reportPart(part: Buffer): void {
    try {
      this.request.heard?.(this.#status, part, this.#headers);
    } catch (error) {
      this.#reject(error);
      this.#cancel();
    }
  }

  /** @param bytes all bytes of the connection since the request began */
  countBytes(bytes: number): void {
    if (this.#body.isFlooded(bytes)) this.#fail('answer_too_large', null);
  }

  end(): void {
    if (this.#isDraining) this.#endDraining();
    if (this.#settled) return;
    const bytes = this.#body.read();
    if (this.request.asBytes !== true) return this.#settle(this.#answer(bytes.toString('utf8')));
    this.#settle({ ...this.#answer(''), bytes });
  }

  /**
   * @param status the status in the first line of the answer, if the rest of the head was
   *   unreadable; 0: none
   */
  failed(error: unknown, status = 0): void {
    const code = codeOf(error);
    if (code === destroyedCode) return this.destroyed();
    if (status > 0 && this.request.discardBody === true && !this.#settled) {
      // The other side has the request, so a caller must not send it again.
      this.#status = status;
      return this.#settle(this.#answer(''));
    }
    if (this.#giveUp !== null) return this.#fail('connection_lost', code);
    const late = code === connectTimeoutCode || code === 'ETIMEDOUT';
    this.#fail(late ? 'connect_timeout' : 'connect_failed', code);
  }

  /** The client is closed. */
  destroyed(): void {
    this.#fail('cancelled', destroyedCode);
  }

  readonly #cancel = (): void => this.#fail('cancelled', null);

  #fail(fault: HttpFault, code: string | null): void {
    if (this.isOver) return;
    const sent = this.#giveUp !== null;
    if (this.#isDraining) this.#endDraining();
    else this.#settle({ kind: 'fault', fault, sent, code });
    this.#giveUp?.();
  }

  #endDraining(): void {
    this.#isDraining = false;
    this.#deadline?.cancel();
  }

  #answer(body: string): Extract<HttpResult, { kind: 'answer' }> {
    return { kind: 'answer', status: this.#status, headers: this.#headers, body };
  }

  #settle(result: HttpResult): void {
    this.#settled = true;
    this.waitingList?.delete(this);
    this.#deadline?.cancel();
    this.#stop?.unlisten(this.#cancel);
    this.#body.clear();
    this.#resolve(result);
  }
}

/**
 * The system's name of an error, or undici's own name. Never the message, which holds the address.
 */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return cause === undefined ? null : codeOf(cause);
}

export type Opener = (owner: Connections) => Connection;

/**
 * The connections to one origin. A request takes the connection that was used last: the other side
 * is least likely to have closed it. Connections from a peak stay unused and end by their age. No
 * operation searches a list. Beyond the limit, requests wait in order.
 */
export class Connections {
  readonly #max: number;
  readonly #open: Opener;
  readonly #all = new Set<Connection>();
  /** The last one is the one that was used last. */
  readonly #idle = new LinkedSet<Connection>();
  readonly #waiting = new LinkedSet<Exchange>();

  /**
   * @param max the limit of connections at once
   * @param open makes a connection, which connects with its first exchange
   */
  constructor(max: number, open: Opener) {
    this.#max = max;
    this.#open = open;
  }

  /** Begins an exchange as soon as there is a connection for it. */
  take(exchange: Exchange): void {
    const idle = this.#idle.last;
    if (idle !== null) {
      this.#idle.delete(idle);
      idle.begin(exchange);
    } else if (this.#all.size < this.#max) {
      const connection = this.#open(this);
      this.#all.add(connection);
      connection.begin(exchange);
    } else {
      exchange.waitingList = this.#waiting;
      this.#waiting.add(exchange);
    }
  }

  /** A connection reports that no exchange is under way on it. */
  freed(connection: Connection): void {
    if (!this.#all.has(connection)) return;
    const next = this.#next();
    if (next === null) this.#idle.add(connection);
    else connection.begin(next);
  }

  /** A connection reports that it is closed, or closes. */
  gone(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    this.#idle.delete(connection);
    const next = this.#next();
    if (next !== null) this.take(next);
  }

  /**
   * Replaces a connection by another object.
   * @returns false: the connection is gone
   */
  replace(connection: Connection, by: Connection): boolean {
    if (!this.#all.delete(connection)) return false;
    this.#all.add(by);
    return true;
  }

  /** Ends all exchanges and closes every connection. */
  async close(): Promise<void> {
    for (const exchange of this.#waiting) exchange.destroyed();
    await Promise.all(Array.from(this.#all, (connection) => connection.destroy()));
  }

  #next(): Exchange | null {
    const next = this.#waiting.first;
    if (next !== null) {
      this.#waiting.delete(next);
      next.waitingList = null;
    }
    return next;
  }
}
