/**
 * A connection of a listener: whether a right bearer came on it, how many of its requests are
 * unanswered, how many it sent without a right bearer, and how long it has taken for what. The
 * socket is svc's own; `node:http` reads and answers by a stream over it (request-stream.ts).
 *
 * A connection with too many unanswered requests is closed. When a client closes its sending side,
 * or sends bytes that are no HTTP, svc still answers the requests before that, and then closes the
 * connection. A stranger may send only so many requests on a connection; one that brings right
 * bearers, as a proxy's does, is not cut.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SteadyTime } from './clock.ts';
import type { Deadlines } from './deadlines.ts';
import { Linked, LinkedSet } from './queue.ts';
import { RequestStream, type StreamOwner, type Turns } from './request-stream.ts';
import type { WrongBearers } from './bearer.ts';

/** Unanswered requests of one connection; one more closes it. */
export const unansweredMax = 16;

/** Whoever sent a request, for the handler that judges the request's bearer. */
export interface Peer {
  /** The request brought the right bearer. To be called before its answer begins. */
  known(response: ServerResponse): void;
  /**
   * The request brought none that can be read, or a wrong one: the connection closes after the
   * answer.
   * @param answer writes the answer: at once, or later where wrong bearers are many
   */
  turnAway(bearer: 'missing' | 'wrong', response: ServerResponse, answer: () => void): void;
}

/** How strangers are held back; all listeners of a process have the same. */
export type Brakes = {
  readonly wrongBearers: WrongBearers;
  readonly turns: Turns;
  readonly deadlines: Deadlines;
  readonly steady: () => SteadyTime;
  /** Is told of each connection that was closed unanswered for want of room. */
  readonly dropped: () => void;
  /** Called with what was thrown in answering a request; its connection is closed. */
  readonly fault: (error: unknown) => void;
};

/** Times are checked every `checkMs`, so each may take two of these longer. */
export type ConnectionLimits = {
  /** From the first moment of a connection, or of a request on it, to the end of its head. */
  readonly headersMs: number;
  /** From the end of the head to the end of the body. */
  readonly requestMs: number;
  /** Between two requests; longer than reverse proxies keep theirs, so that they let go first. */
  readonly keepAliveMs: number;
  /** An answer of which the other side has taken nothing for so long ends its connection. */
  readonly untakenMs: number;
  /**
   * How long answers may take after the client has closed its sending side. Most clients that do so
   * have gone away, and their live views and trials must end soon.
   */
  readonly halfClosedMs: number;
  readonly checkMs: number;
  readonly connectionsMax: number;
  /** Requests without a right bearer on one connection, which then closes. */
  readonly strangerRequestsMax: number;
};

/** Who reads and answers the requests of a listener. */
export type ConnectionHandlers = {
  /** Gives `node:http` a connection. */
  readonly handOver: (stream: RequestStream) => void;
  /** Says that a request did not come in time, where it may still be said, and closes. */
  readonly timedOut: (connection: Connection) => void;
};

/** What a connection is at: nothing, the head of a request, its body, an answer. */
type Phase = 'idle' | 'head' | 'body' | 'answer';

export class Connection extends Linked implements Peer, StreamOwner {
  readonly socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #brakes: Brakes;
  readonly #changed: (connection: Connection) => void;
  readonly #handlers: ConnectionHandlers;
  /** null: nothing has come on it. */
  #stream: RequestStream | null = null;
  #strangerRequests = 0;
  #requests = 0;
  unanswered = 0;
  /** A right bearer has come on it. */
  isKnown = false;
  /** `node:http` has been given bytes of a request that has not come whole. */
  #isComing = false;
  /** The request whose head came last. */
  #request: IncomingMessage | null = null;
  /** The answer begun last. */
  #answer: ServerResponse | null = null;
  /** What it was at when it was checked last, and since when. */
  #checked: {
    readonly phase: Phase;
    readonly requests: number;
    readonly since: SteadyTime;
  } | null = null;
  /** Since when svc only sends the answers that it owes, and reads nothing; null: it reads. */
  #closingSince: SteadyTime | null = null;
  /** How many of the unanswered requests never came whole, so svc owes them no answer: 0 or 1. */
  #incomplete = 0;
  #discardedBytes = 0;
  /** Where it stands in the table of connections. */
  place: LinkedSet<Connection> | null = null;

  /** @param changed called whenever it becomes idle or busy, or known */
  constructor(
    socket: Socket,
    limits: ConnectionLimits,
    brakes: Brakes,
    changed: (connection: Connection) => void,
    handlers: ConnectionHandlers,
  ) {
    super();
    this.socket = socket;
    this.#limits = limits;
    this.#brakes = brakes;
    this.#changed = changed;
    this.#handlers = handlers;
    // A socket that fails closes; there is nothing else to do about it.
    socket.on('error', () => {});
    socket.on('data', this.#take);
    socket.on('end', this.#endInput);
    socket.on('timeout', this.#stall);
  }

  /** A request has come on it. */
  get hasAsked(): boolean {
    return this.#requests > 0;
  }

  /** It is between two requests, or before the first. */
  get isIdle(): boolean {
    return this.unanswered === 0 && !this.#isAtPart;
  }

  /**
   * Closes the connection once every request that came whole is answered. Bytes that come until
   * then are discarded.
   * @returns false: no such request is unanswered, and nothing was done
   */
  closeAfterAnswers(): boolean {
    this.#settle();
    const incomplete = this.#request === null ? 0 : 1;
    if (this.unanswered === incomplete) return false;
    this.#closingSince ??= this.#brakes.steady();
    this.#incomplete = incomplete;
    this.#isComing = false;
    const last = this.#answer;
    if (incomplete === 0 && last?.headersSent === false) last.setHeader('connection', 'close');
    return true;
  }

  /** What of it there is to write to. */
  get output(): Duplex {
    return this.#stream ?? this.socket;
  }

  /**
   * Whether what is written next is read as the answer to the request that did not come whole: no
   * other request is unanswered, and its own answer has not begun.
   */
  get mayRefuse(): boolean {
    this.#settle();
    if (this.#request === null) return this.unanswered === 0;
    return this.unanswered === 1 && this.#answer?.headersSent === false;
  }

  /** Closes it behind what has been written. */
  close(): void {
    if (this.#stream === null) this.socket.destroySoon();
    else this.#stream.destroySoon();
  }

  /** Calls what answers a request; what that throws ends this connection, and no other. */
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
    this.#brakes.fault(error);
  };

  /** @returns false: it has too many unanswered requests, and is closed */
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
    const { wrongBearers, deadlines } = this.#brakes;
    const delayMs = bearer === 'wrong' ? wrongBearers.add(this.socket.remoteAddress ?? '') : 0;
    if (delayMs === 0) return answer();
    const deadline = deadlines.after(delayMs, () => this.guard(answer));
    response.once('close', () => deadline.cancel());
  }

  giving(bytes: Buffer): boolean {
    if (this.#closingSince !== null) return false;
    this.#settle();
    if (!isBlank(bytes)) this.#isComing = true;
    return true;
  }

  get bodyBytes(): number {
    this.#settle();
    return Number(this.#request?.headers['content-length'] ?? 0);
  }

  /** The client has closed its sending side, and `node:http` has all that it sent. */
  inputEnded(stream: RequestStream): void {
    if (this.#closingSince !== null) return;
    if (this.#isAtPart || !this.closeAfterAnswers()) stream.push(null);
  }

  /** Closes it when it has taken too long for what it is at. */
  check(now: SteadyTime): void {
    if (this.#closingSince !== null && now - this.#closingSince >= this.#limits.halfClosedMs) {
      this.socket.destroy();
      return;
    }
    const phase = this.#phase;
    const before = this.#checked;
    if (before === null || before.phase !== phase || before.requests !== this.#requests) {
      this.#checked = { phase, requests: this.#requests, since: now };
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
    const isAtPart = this.#isAtPart;
    if (this.#request !== null) return 'body';
    // The next head may take its time while an answer is made.
    if (this.unanswered > 0) return 'answer';
    return isAtPart || this.#requests === 0 ? 'head' : 'idle';
  }

  /** A part of a request has come, and its end has not. */
  get #isAtPart(): boolean {
    this.#settle();
    return this.#isComing;
  }

  #settle(): void {
    if (this.#request?.complete !== true) return;
    this.#request = null;
    this.#isComing = false;
  }

  readonly #take = (bytes: Buffer): void => {
    if (this.#closingSince !== null) return this.#discard(bytes);
    try {
      this.#streamOfNode().receive(bytes);
    } catch (error) {
      this.fail(error);
    }
  };

  /**
   * Closing a socket with unread bytes sends a reset, which may cost the client its answer. So svc
   * reads and discards a few bytes; of a client that floods it reads no more.
   */
  #discard(bytes: Buffer): void {
    this.#discardedBytes += bytes.length;
    if (this.#discardedBytes > discardedBytesMax) this.socket.pause();
  }

  /** `node:http` has it from the first bytes on. */
  #streamOfNode(): RequestStream {
    if (this.#stream !== null) return this.#stream;
    this.#stream = new RequestStream(this.socket, this, this.#brakes.turns);
    this.#handlers.handOver(this.#stream);
    return this.#stream;
  }

  /** The other side sends nothing more. */
  readonly #endInput = (): void => {
    if (this.#stream === null) this.socket.end();
    else this.#stream.endInput();
  };

  /** The other side has taken nothing of what was written for a while. */
  readonly #stall = (): void => {
    if (this.socket.writableLength > 0) this.socket.destroy();
  };
}

const discardedBytesMax = 64 * 1024;

/** Empty lines before a request begin none: https://www.rfc-editor.org/rfc/rfc9112#section-2.2 */
function isBlank(bytes: Buffer): boolean {
  return bytes.length <= blankBytesMax && bytes.every((byte) => byte === 13 || byte === 10);
}

const blankBytesMax = 64;

/**
 * The connections of a listener. Where there is no room for one more, it takes the place of the one
 * that has been idle for longest, of a stranger before others; where none is idle, of the oldest
 * stranger.
 */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #brakes: Brakes;
  readonly #handlers: ConnectionHandlers;
  readonly #all = new Set<Connection>();
  readonly #idleStrangers = new LinkedSet<Connection>();
  readonly #idle = new LinkedSet<Connection>();
  readonly #busyStrangers = new LinkedSet<Connection>();
  #isChecking = false;
  #isClosing = false;

  constructor(limits: ConnectionLimits, brakes: Brakes, handlers: ConnectionHandlers) {
    this.#limits = limits;
    this.#brakes = brakes;
    this.#handlers = handlers;
  }

  admit(socket: Socket): void {
    if (this.#all.size >= this.#limits.connectionsMax && !this.#makeRoom()) {
      this.#brakes.dropped();
      socket.destroy();
      return;
    }
    const connection = new Connection(
      socket,
      this.#limits,
      this.#brakes,
      this.#place,
      this.#handlers,
    );
    this.#all.add(connection);
    this.#place(connection);
    socket.once('close', () => this.#forget(connection));
    this.#checkLater();
  }

  /** Closes what is idle now, and everything else as soon as it is. */
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
    if (first.unanswered > 0 || !first.hasAsked) this.#brakes.dropped();
    this.#forget(first);
    first.socket.destroy();
    return true;
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection);
    connection.place?.delete(connection);
    connection.place = null;
  }

  readonly #place = (connection: Connection): void => {
    connection.place?.delete(connection);
    const { isKnown, unanswered } = connection;
    const strangers = unanswered === 0 ? this.#idleStrangers : this.#busyStrangers;
    const known = unanswered === 0 ? this.#idle : null;
    connection.place = this.#all.has(connection) ? (isKnown ? known : strangers) : null;
    connection.place?.add(connection);
    if (this.#isClosing && connection.isIdle) connection.close();
  };

  /** As long as there are connections. */
  #checkLater(): void {
    if (this.#isChecking || this.#all.size === 0) return;
    this.#isChecking = true;
    this.#brakes.deadlines.after(this.#limits.checkMs, () => {
      const now = this.#brakes.steady();
      for (const connection of this.#all) {
        if (this.#isClosing && connection.isIdle) connection.close();
        else connection.check(now);
      }
      this.#isChecking = false;
      this.#checkLater();
    });
  }
}
