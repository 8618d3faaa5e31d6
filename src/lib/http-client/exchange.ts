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
  /** Nothing else stops a body that drips. */
  readonly deadlineAt: SteadyTime;
  /** A longer body is read no further. */
  readonly bodyBytesMax: number;
  /**
   * For a caller that needs no body: the head is the whole answer. The body is read behind it for
   * a second and up to `bodyBytesMax`, so that the connection is kept; then it is closed.
   */
  readonly discardBody?: boolean;
  /** The answer has the body as bytes, and no text. */
  readonly asBytes?: boolean;
  /**
   * Called with the body piece by piece as it comes; the answer has all of it as well. What it
   * throws rejects the call.
   */
  readonly heard?: (status: number, part: Buffer, headers: AnswerHeaders) => void;
  /**
   * Only to this machine and private networks, as `isNear` says of the address that is connected
   * to; elsewhere it is `connect_failed` with `farAddressCode`, and no connection is begun.
   */
  readonly nearOnly?: boolean;
};

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export type HttpResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: AnswerHeaders;
      /** As UTF-8; empty where bytes were asked for. */
      readonly body: string;
      /** Absent: they were not asked for. */
      readonly bytes?: Uint8Array;
    }
  | {
      readonly kind: 'fault';
      readonly fault: HttpFault;
      /** The request may have reached the other side. */
      readonly sent: boolean;
      /** The system's name of the error (ECONNREFUSED, …), or null; no address, no secret. */
      readonly code: string | null;
    };

export type HttpFault =
  | 'connect_failed'
  | 'connect_timeout'
  | 'connection_lost'
  | 'timeout'
  | 'answer_too_large'
  | 'cancelled';

/** One exchange at a time goes over it. */
export abstract class Connection extends Linked {
  /** Sends the request of an exchange, or lets go of it again (`Connections.again`). */
  abstract begin(exchange: Exchange): void;
  /** Ends the exchange under way, and closes. Resolves once the socket is closed. */
  abstract destroy(): Promise<void>;
}

/** How long a body that nobody wants may take once its status is there. */
export const unwantedMs = 1_000;

/** What keeps a server from packing its body: one that is told nothing may (RFC 9110, 12.5.3). */
export const unpacked = { name: 'accept-encoding', value: 'identity' } as const;

/** Whether the body is read, and the caller has not said how it may be packed. */
export function wantsUnpacked({ headers, discardBody }: HttpRequest): boolean {
  if (discardBody === true) return false;
  for (const name in headers) {
    if (name.length === unpacked.name.length && name.toLowerCase() === unpacked.name) return false;
  }
  return true;
}

/** As undici's, for what both kinds of connection end with. */
export const closedCode = 'UND_ERR_SOCKET';
const destroyedCode = 'UND_ERR_DESTROYED';
export const connectTimeoutCode = 'UND_ERR_CONNECT_TIMEOUT';

/**
 * One request and its answer. Waiting for a connection → begun (on one) → settled, once, by the end
 * of the body, an error, the deadline or the word to stop. When it is settled early the connection
 * is closed, or never used if there was none yet.
 *
 * Where nobody wants the body, the head settles it. The body is still read, within its size and
 * `unwantedMs`, so that its connection can be used again; a longer one closes the connection.
 */
export class Exchange extends Linked {
  readonly request: HttpRequest;
  /** The request as it goes to the socket, for a plain connection alone. */
  text: string | null = null;
  /** Those that wait for a connection with it. */
  waitsIn: LinkedSet<Exchange> | null = null;
  readonly #stop: Stop | undefined;
  readonly #resolve: (result: HttpResult) => void;
  readonly #reject: (error: unknown) => void;
  #deadlines: Deadlines | null = null;
  /** Closes what it is sent on; null: it has not been sent. */
  #giveUp: (() => void) | null = null;
  #deadline: Deadline | null = null;
  #settled = false;
  /** It is settled, and its body is read for the connection alone. */
  #isDraining = false;
  #status = 0;
  #skipped = 0;
  #headers: AnswerHeaders = {};
  readonly #body = new AnswerBody();

  /** @param reject called with what `heard` of the request threw */
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

  /** Nothing more is to be read for it. */
  get isOver(): boolean {
    return this.#settled && !this.#isDraining;
  }

  /** Has it settled by its deadline, or by the word to stop, which may have been said already. */
  watch(deadlines: Deadlines): void {
    if (this.#stop?.stopped === true) return this.#cancel();
    this.#deadlines = deadlines;
    this.#deadline = deadlines.at(this.request.deadlineAt, () => this.#fail('timeout', null));
    this.#stop?.listen(this.#cancel);
  }

  /**
   * From now on it may reach the other side.
   * @param giveUp closes the connection; called at once where nobody waits any more
   */
  begun(giveUp: () => void): void {
    this.#giveUp = giveUp;
    if (this.isOver) giveUp();
  }

  /** @param status 1xx: an answer in between */
  head(status: number, headers: AnswerHeaders): void {
    if (status < 200) {
      if (this.#body.addInterim()) this.#fail('answer_too_large', null);
      return;
    }
    // After a hand-over it comes once more.
    if (this.#settled) return;
    this.#status = status;
    this.#headers = headers;
    if (this.request.discardBody !== true) return;
    this.#settle(this.#answer(''));
    this.#isDraining = true;
    this.#deadline = this.#deadlines!.after(unwantedMs, () => this.#fail('timeout', null));
  }

  /** The next bytes of the body are here already, and come again. */
  skip(bytes: number): void {
    this.#skipped = bytes;
  }

  /** @param borrowed it is overwritten afterwards */
  part(bytes: Buffer, borrowed = false): void {
    if (this.isOver) return;
    const part = this.#skipped === 0 ? bytes : bytes.subarray(this.#skipped);
    this.#skipped = 0;
    if (this.#body.bytes + part.length > this.request.bodyBytesMax) {
      this.#fail('answer_too_large', null);
    } else {
      this.#body.add(part, this.request.discardBody !== true, borrowed);
      this.#hear(borrowed ? Buffer.from(part) : part);
    }
  }

  /** It is called out of a socket: what a listener throws there would end the process. */
  #hear(part: Buffer): void {
    try {
      this.request.heard?.(this.#status, part, this.#headers);
    } catch (error) {
      this.#reject(error);
      this.#cancel();
    }
  }

  /** @param bytes what the connection has brought since the request began */
  read(bytes: number): void {
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
   * @param status what the first line of the answer said, where the rest of its head could not be
   * read; 0: nothing
   */
  failed(error: unknown, status = 0): void {
    const code = codeOf(error);
    if (code === destroyedCode) return this.destroyed();
    if (status > 0 && this.request.discardBody === true && !this.#settled) {
      // Whoever answered has the request: it is not to be sent again.
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
    this.waitsIn?.delete(this);
    this.#deadline?.cancel();
    this.#stop?.unlisten(this.#cancel);
    this.#body.clear();
    this.#resolve(result);
  }
}

/** The system's name of an error, or undici's own; never its message, which holds the address. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return cause === undefined ? null : codeOf(cause);
}

export type Opener = (owner: Connections) => Connection;

/**
 * The connections to one origin. The one that was used last is taken first: it is the least likely
 * to have been closed by the other side, and those that a peak has opened are left to end by their
 * age. Nothing here looks through a list. Beyond the most, requests wait in their order.
 */
export class Connections {
  readonly #max: number;
  readonly #open: Opener;
  readonly #all = new Set<Connection>();
  /** The last is the one that was used last. */
  readonly #idle = new LinkedSet<Connection>();
  readonly #waiting = new LinkedSet<Exchange>();

  /**
   * @param max how many connections there may be at once
   * @param open begins nothing yet; it connects with its first exchange
   */
  constructor(max: number, open: Opener) {
    this.#max = max;
    this.#open = open;
  }

  /** Begins an exchange, as soon as a connection is there for it. */
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
      exchange.waitsIn = this.#waiting;
      this.#waiting.add(exchange);
    }
  }

  /** A connection says: nothing is under way on it. */
  freed(connection: Connection): void {
    if (!this.#all.has(connection)) return;
    const next = this.#next();
    if (next === null) this.#idle.add(connection);
    else connection.begin(next);
  }

  /** A connection says: it is closed, or closes. */
  gone(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    this.#idle.delete(connection);
    const next = this.#next();
    if (next !== null) this.take(next);
  }

  /**
   * Another object stands for a connection from now on.
   * @returns false: the connection is gone
   */
  replace(connection: Connection, by: Connection): boolean {
    if (!this.#all.delete(connection)) return false;
    this.#all.add(by);
    return true;
  }

  /** Ends what is under way and what waits, and closes every connection. */
  async close(): Promise<void> {
    for (const exchange of this.#waiting) exchange.destroyed();
    await Promise.all(Array.from(this.#all, (connection) => connection.destroy()));
  }

  #next(): Exchange | null {
    const next = this.#waiting.first;
    if (next !== null) {
      this.#waiting.delete(next);
      next.waitsIn = null;
    }
    return next;
  }
}
