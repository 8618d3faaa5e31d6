/**
 * A connection of a listener. It knows whether a right bearer token came on it, how many of its
 * requests are unanswered, and how many came without a right bearer token. It also knows how long
 * the present phase has lasted. svc owns the socket; `node:http` reads and answers by a stream over
 * it (request-stream.ts).
 *
 * A connection with too many unanswered requests is closed. If a client closes its sending side, or
 * sends bytes that are no HTTP, svc still answers the requests before that. Then it closes the
 * connection. A stranger may send only a limited number of requests on a connection. A connection
 * with right bearer tokens, such as a proxy's, has no such limit.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SteadyTime } from './clock.ts';
import type { Deadlines } from './deadlines.ts';
import { Linked, LinkedSet } from './queue.ts';
import { RequestStream, type StreamOwner, type TimeSlices } from './request-stream.ts';
import type { WrongBearers } from './bearer.ts';

/** The most unanswered requests of one connection; one more closes it. */
export const unansweredMax = 16;

/** The sender of a request, for the handler that checks the request's bearer token. */
export interface Peer {
  /** Reports that the request brought the right bearer token. Call it before the answer begins. */
  known(response: ServerResponse): void;
  /**
   * Reports that the request brought no readable bearer token, or a wrong one. The connection
   * closes after the answer.
   * @param answer writes the answer: at once, or later after many wrong tokens
   */
  turnAway(bearer: 'missing' | 'wrong', response: ServerResponse, answer: () => void): void;
}

/** The protection against strangers; all listeners of a process share it. */
export type ConnectionDeps = {
  readonly wrongBearers: WrongBearers;
  readonly slices: TimeSlices;
  readonly deadlines: Deadlines;
  readonly steady: () => SteadyTime;
  /** Called for each connection that was closed unanswered because there was no room. */
  readonly dropped: () => void;
  /** Called with the error of a handler; its connection is closed. */
  readonly fault: (error: unknown) => void;
};

/** svc checks the times every `checkMs`, so each may last up to two checks longer. */
export type ConnectionLimits = {
  /**
   * From the beginning of a connection, or of a request on it, to the end of the request's head.
   */
  readonly headersMs: number;
  /** From the end of the head to the end of the body. */
  readonly requestMs: number;
  /**
   * Between two requests. It is longer than the time of reverse proxies, so that they close first.
   */
  readonly keepAliveMs: number;
  /** If the client takes no bytes of an answer for this time, the connection closes. */
  readonly untakenMs: number;
  /**
   * The time for answers after the client has closed its sending side. Most such clients have gone
   * away, and their live views and trials must end soon.
   */
  readonly halfClosedMs: number;
  readonly checkMs: number;
  readonly connectionsMax: number;
  /**
   * The limit for requests without a right bearer token on one connection; at the limit it closes.
   */
  readonly strangerRequestsMax: number;
};

/** The functions that read and answer the requests of a listener. */
export type ConnectionHandlers = {
  /** Gives `node:http` a connection. */
  readonly handOver: (stream: RequestStream) => void;
  /** Answers that a request did not come in time, if svc can still say so, and closes. */
  readonly timedOut: (connection: Connection) => void;
};

/** The phase of a connection: nothing, the head of a request, its body, an answer. */
type Phase = 'idle' | 'head' | 'body' | 'answer';

export class Connection extends Linked implements Peer, StreamOwner {
  readonly socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #deps: ConnectionDeps;
  readonly #changed: (connection: Connection) => void;
  readonly #handlers: ConnectionHandlers;
  /** null: no bytes have come on it. */
  #stream: RequestStream | null = null;
  #strangerRequests = 0;
  #requests = 0;
  unanswered = 0;
  /** A right bearer token has come on this connection. */
  isKnown = false;
  /** `node:http` has bytes of a request that is not complete. */
  #isPartial = false;
  /** The last request whose head came. */
  #request: IncomingMessage | null = null;
  /** The answer that began last. */
  #answer: ServerResponse | null = null;
  /** The phase at the last check, and the time since when. */
  #lastCheck: {
    readonly phase: Phase;
    readonly requests: number;
    readonly since: SteadyTime;
  } | null = null;
  /** Since this time svc only sends the answers that it owes, and reads nothing; null: it reads. */
  #closingSince: SteadyTime | null = null;
  /** The number of unanswered requests that never came whole: 0 or 1. svc owes them no answer. */
  #incomplete = 0;
  #discardedBytes = 0;
  /** The list of the table that holds this connection. */
  list: LinkedSet<Connection> | null = null;

  /** @param changed called whenever the connection becomes idle, busy or known */
  constructor(
    socket: Socket,
    limits: ConnectionLimits,
    brakes: ConnectionDeps,
    changed: (connection: Connection) => void,
    handlers: ConnectionHandlers,
  ) {
    super();
    this.socket = socket;
    this.#limits = limits;
    this.#deps = brakes;
    this.#changed = changed;
    this.#handlers = handlers;
    // A socket that fails closes; nothing else is to do.
    socket.on('error', () => {});
    socket.on('data', this.#receive);
    socket.on('end', this.#endInput);
    socket.on('timeout', this.#closeStalled);
  }

  /** A request has come on this connection. */
  get hasRequested(): boolean {
    return this.#requests > 0;
  }

  /** The connection is between two requests, or before the first. */
  get isIdle(): boolean {
    return this.unanswered === 0 && !this.#hasPartialRequest;
  }

  /**
   * Closes the connection once every whole request is answered. svc discards bytes that come until
   * then.
   * @returns false: no such request is unanswered, and the call did nothing
   */
  closeAfterAnswers(): boolean {
    this.#clearComplete();
    const incomplete = this.#request === null ? 0 : 1;
    if (this.unanswered === incomplete) return false;
    this.#closingSince ??= this.#deps.steady();
    this.#incomplete = incomplete;
    this.#isPartial = false;
    const last = this.#answer;
    if (incomplete === 0 && last?.headersSent === false) last.setHeader('connection', 'close');
    return true;
  }

  /** The stream or the socket that answers go to. */
  get output(): Duplex {
    return this.#stream ?? this.socket;
  }

  /**
   * Whether the client would read the next bytes as the answer to its incomplete request. That is
   * so if no other request is unanswered, and the answer to that one has not begun.
   */
  get mayRefuse(): boolean {
    this.#clearComplete();
    if (this.#request === null) return this.unanswered === 0;
    return this.unanswered === 1 && this.#answer?.headersSent === false;
  }

  /** Closes the connection after the written bytes. */
  close(): void {
    if (this.#stream === null) this.socket.destroySoon();
    else this.#stream.destroySoon();
  }

  /** Calls a function that answers a request. If it throws, only this connection ends. */
  guard(act: () => void | Promise<void>): void {
    try {
      const acting = act();
      if (acting instanceof Promise) acting.catch(this.fail);
    } catch (error) {
      this.fail(error);
    }
  }

  readonly fail = (error: unknown): void => {
    this.socket.destroy();
    this.#deps.fault(error);
  };

  /** @returns false: the connection has too many unanswered requests, and is closed */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.socket.destroyed) return false;
    this.#request = request;
    this.#answer = response;
    this.#requests++;
    if (++this.unanswered > unansweredMax) {
      this.socket.destroy();
      return false;
    }
    if (this.unanswered === 1) this.#changed(this);
    if (++this.#strangerRequests >= this.#limits.strangerRequestsMax) {
      response.setHeader('connection', 'close');
    }
    response.once('close', this.#answered);
    return true;
  }

  readonly #answered = (): void => {
    if (--this.unanswered > this.#incomplete) return;
    if (this.#closingSince === null) this.#changed(this);
    else this.close();
  };

  known(response: ServerResponse): void {
    if (--this.#strangerRequests >= this.#limits.strangerRequestsMax - 1) {
      response.removeHeader('connection');
    }
    if (this.isKnown) return;
    this.isKnown = true;
    this.#changed(this);
  }

  turnAway(bearer: 'missing' | 'wrong', response: ServerResponse, answer: () => void): void {
    response.setHeader('connection', 'close');
    const { wrongBearers, deadlines } = this.#deps;
    const delayMs = bearer === 'wrong' ? wrongBearers.add(this.socket.remoteAddress ?? '') : 0;
    if (delayMs === 0) return answer();
    const deadline = deadlines.after(delayMs, () => this.guard(answer));
    response.once('close', () => deadline.cancel());
  }

  beforePush(bytes: Buffer): boolean {
    if (this.#closingSince !== null) return false;
    this.#clearComplete();
    if (!isBlank(bytes)) this.#isPartial = true;
    return true;
  }

  get bodyBytes(): number {
    this.#clearComplete();
    return Number(this.#request?.headers['content-length'] ?? 0);
  }

  /** The client has closed its sending side, and `node:http` has all its bytes. */
  inputEnded(stream: RequestStream): void {
    if (this.#closingSince !== null) return;
    if (this.#hasPartialRequest || !this.closeAfterAnswers()) stream.push(null);
  }

  /** Closes the connection if its phase has lasted too long. */
  check(now: SteadyTime): void {
    if (this.#closingSince !== null && now - this.#closingSince >= this.#limits.halfClosedMs) {
      this.socket.destroy();
      return;
    }
    const phase = this.#phase;
    const before = this.#lastCheck;
    if (before === null || before.phase !== phase || before.requests !== this.#requests) {
      this.#lastCheck = { phase, requests: this.#requests, since: now };
      this.socket.setTimeout(phase === 'answer' ? this.#limits.untakenMs : 0);
      return;
    }
    const { headersMs, requestMs, keepAliveMs } = this.#limits;
    const ms = { idle: keepAliveMs, head: headersMs, body: requestMs, answer: Infinity }[phase];
    if (now - before.since < ms) return;
    if (phase === 'idle') this.close();
    else this.#handlers.timedOut(this);
  }

  get #phase(): Phase {
    const isAtPart = this.#hasPartialRequest;
    if (this.#request !== null) return 'body';
    // The next head may take its time while svc makes an answer.
    if (this.unanswered > 0) return 'answer';
    return isAtPart || this.#requests === 0 ? 'head' : 'idle';
  }

  /** A part of a request has come, and its end has not. */
  get #hasPartialRequest(): boolean {
    this.#clearComplete();
    return this.#isPartial;
  }

  #clearComplete(): void {
    if (this.#request?.complete !== true) return;
    this.#request = null;
    this.#isPartial = false;
  }

  readonly #receive = (bytes: Buffer): void => {
    if (this.#closingSince !== null) return this.#discard(bytes);
    try {
      this.#nodeStream().receive(bytes);
    } catch (error) {
      this.fail(error);
    }
  };

  /**
   * Closing a socket with unread bytes sends a reset, and the client may lose its answer. So svc
   * reads and discards a few bytes. If a client sends too many, svc stops reading.
   */
  #discard(bytes: Buffer): void {
    this.#discardedBytes += bytes.length;
    if (this.#discardedBytes > discardedBytesMax) this.socket.pause();
  }

  /** `node:http` gets the stream with the first bytes. */
  #nodeStream(): RequestStream {
    if (this.#stream !== null) return this.#stream;
    this.#stream = new RequestStream(this.socket, this, this.#deps.slices);
    this.#handlers.handOver(this.#stream);
    return this.#stream;
  }

  /** The client sends nothing more. */
  readonly #endInput = (): void => {
    if (this.#stream === null) this.socket.end();
    else this.#stream.endInput();
  };

  /** The client has taken no bytes of the answer for a while. */
  readonly #closeStalled = (): void => {
    if (this.socket.writableLength > 0) this.socket.destroy();
  };
}

const discardedBytesMax = 64 * 1024;

/** Empty lines before a request do not count: https://www.rfc-editor.org/rfc/rfc9112#section-2.2 */
function isBlank(bytes: Buffer): boolean {
  return bytes.length <= blankBytesMax && bytes.every((byte) => byte === 13 || byte === 10);
}

const blankBytesMax = 64;

/**
 * The connections of a listener. If there is no room for a new connection, it replaces the
 * connection that was idle for longest, strangers first. If none is idle, it replaces the oldest
 * stranger.
 */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #deps: ConnectionDeps;
  readonly #handlers: ConnectionHandlers;
  readonly #all = new Set<Connection>();
  readonly #idleStrangers = new LinkedSet<Connection>();
  readonly #idle = new LinkedSet<Connection>();
  readonly #busyStrangers = new LinkedSet<Connection>();
  #isChecking = false;
  #isClosing = false;

  constructor(limits: ConnectionLimits, brakes: ConnectionDeps, handlers: ConnectionHandlers) {
    this.#limits = limits;
    this.#deps = brakes;
    this.#handlers = handlers;
  }

  admit(socket: Socket): void {
    if (this.#all.size >= this.#limits.connectionsMax && !this.#makeRoom()) {
      this.#deps.dropped();
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, this.#limits, this.#deps, this.#list, this.#handlers);
    this.#all.add(connection);
    this.#list(connection);
    socket.once('close', () => this.#forget(connection));
    this.#checkLater();
  }

  /** Closes the idle connections now, and the others as soon as they are idle. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#all) if (connection.isIdle) connection.close();
  }

  destroy(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #makeRoom(): boolean {
    const first = this.#idleStrangers.first ?? this.#idle.first ?? this.#busyStrangers.first;
    if (first === null) return false;
    if (first.unanswered > 0 || !first.hasRequested) this.#deps.dropped();
    this.#forget(first);
    first.socket.destroy();
    return true;
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection);
    connection.list?.delete(connection);
    connection.list = null;
  }

  readonly #list = (connection: Connection): void => {
    connection.list?.delete(connection);
    const { isKnown, unanswered } = connection;
    const strangers = unanswered === 0 ? this.#idleStrangers : this.#busyStrangers;
    const known = unanswered === 0 ? this.#idle : null;
    connection.list = this.#all.has(connection) ? (isKnown ? known : strangers) : null;
    connection.list?.add(connection);
    if (this.#isClosing && connection.isIdle) connection.close();
  };

  /** Checks again and again while there are connections. */
  #checkLater(): void {
    if (this.#isChecking || this.#all.size === 0) return;
    this.#isChecking = true;
    this.#deps.deadlines.after(this.#limits.checkMs, () => {
      const now = this.#deps.steady();
      for (const connection of this.#all) {
        if (this.#isClosing && connection.isIdle) connection.close();
        else connection.check(now);
      }
      this.#isChecking = false;
      this.#checkLater();
    });
  }
}
