/**
 * What is known of each connection of a listener: whether a right bearer came on it, how many of
 * its requests are unanswered, and how many it sent without a right bearer. Where there is room for
 * no more connections, a new one takes the place of the one that has been idle for longest, of a
 * stranger before others; where none is idle, of the oldest stranger.
 *
 * A stranger may send only so many requests on a connection, since answers that nobody reads would
 * hold it for ever; a connection that brings right bearers, as a proxy's does, is not cut.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Deadlines } from './deadlines.ts';
import { Linked, LinkedSet } from './linked-set.ts';
import { PacedReading, type Turns } from './paced-reading.ts';
import { QuickWay, type QuickDoor, type QuickHost } from './quick-way/quick-way.ts';
import type { WrongBearers } from './wrong-bearers.ts';

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
  /** Is told of each connection that was closed unanswered for want of room. */
  readonly dropped: () => void;
};

export type ConnectionLimits = {
  readonly connectionsMax: number;
  /** Requests without a right bearer on one connection. */
  readonly strangerRequestsMax: number;
};

export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #brakes: Brakes;
  readonly #door: QuickDoor | null;
  readonly #bySocket = new Map<object, Connection>();
  readonly #idleStrangers = new LinkedSet<Connection>();
  readonly #idle = new LinkedSet<Connection>();
  readonly #busyStrangers = new LinkedSet<Connection>();

  /** @param door null: everything goes to the HTTP server */
  constructor(limits: ConnectionLimits, brakes: Brakes, door: QuickDoor | null = null) {
    this.#limits = limits;
    this.#brakes = brakes;
    this.#door = door;
  }

  get size(): number {
    return this.#bySocket.size;
  }

  /** @param socket of a 'connection' event, once the HTTP server has heard it */
  admit(socket: Socket): void {
    if (this.size >= this.#limits.connectionsMax && !this.#makeRoom()) {
      this.#brakes.dropped();
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, this.#limits, this.#brakes, this.#place, this.#door);
    this.#bySocket.set(socket, connection);
    this.#place(connection);
    socket.once('close', () => this.#forget(connection));
  }

  /** undefined: it was refused for want of room. */
  of(socket: object): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Those whose answer the HTTP server knows nothing of. */
  taken(): Socket[] {
    return [...this.#bySocket.values()]
      .filter(({ isTaken }) => isTaken)
      .map(({ socket }) => socket);
  }

  #makeRoom(): boolean {
    const first = this.#idleStrangers.first ?? this.#idle.first ?? this.#busyStrangers.first;
    if (first === null) return false;
    if (first.unanswered > 0 || first.answer === null) this.#brakes.dropped();
    this.#forget(first);
    first.socket.destroy();
    return true;
  }

  #forget(connection: Connection): void {
    this.#bySocket.delete(connection.socket);
    connection.place?.delete(connection);
    connection.place = null;
  }

  readonly #place = (connection: Connection): void => {
    connection.place?.delete(connection);
    const { isKnown, unanswered, socket } = connection;
    const strangers = unanswered === 0 ? this.#idleStrangers : this.#busyStrangers;
    const known = unanswered === 0 ? this.#idle : null;
    connection.place = this.#bySocket.has(socket) ? (isKnown ? known : strangers) : null;
    connection.place?.add(connection);
  };
}

export class Connection extends Linked implements Peer, QuickHost {
  readonly socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #brakes: Brakes;
  readonly #changed: (connection: Connection) => void;
  readonly #reading: PacedReading;
  readonly #address: string;
  #strangerRequests = 0;
  #isKnown = false;
  /** The answer begun last, so that a broken request is not answered twice. */
  answer: ServerResponse | null = null;
  /** Where it stands in the table of connections. */
  place: LinkedSet<Connection> | null = null;

  /** @param changed called whenever it becomes idle or busy, or known */
  constructor(
    socket: Socket,
    limits: ConnectionLimits,
    brakes: Brakes,
    changed: (connection: Connection) => void,
    door: QuickDoor | null,
  ) {
    super();
    this.socket = socket;
    this.#limits = limits;
    this.#brakes = brakes;
    this.#changed = changed;
    const quickWay = door === null ? null : new QuickWay(socket, door, this);
    this.#reading = new PacedReading(socket, brakes.turns, quickWay?.look);
    this.#address = socket.remoteAddress ?? '';
  }

  /** A right bearer has come on it. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  get unanswered(): number {
    return this.#reading.unanswered;
  }

  /** The quick way has a request of it in hand. */
  get isTaken(): boolean {
    return this.#reading.isTaken;
  }

  get isPlain(): boolean {
    return this.#strangerRequests < this.#limits.strangerRequestsMax - 1;
  }

  beginQuick(): void {
    this.#isKnown = true;
    this.#reading.beginTaken();
    this.#changed(this);
  }

  endQuick(): void {
    this.#reading.end();
    this.#changed(this);
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    this.answer = response;
    this.#reading.begin(request);
    if (this.unanswered === 1) this.#changed(this);
    if (++this.#strangerRequests >= this.#limits.strangerRequestsMax) {
      response.setHeader('connection', 'close');
    }
    response.once('close', () => {
      this.#reading.end();
      if (this.unanswered === 0) this.#changed(this);
    });
  }

  known(response: ServerResponse): void {
    if (--this.#strangerRequests >= this.#limits.strangerRequestsMax - 1) {
      response.removeHeader('connection');
    }
    if (this.#isKnown) return;
    this.#isKnown = true;
    this.#changed(this);
  }

  turnAway(bearer: 'missing' | 'wrong', response: ServerResponse, answer: () => void): void {
    response.setHeader('connection', 'close');
    const { wrongBearers, deadlines } = this.#brakes;
    const delayMs = bearer === 'wrong' ? wrongBearers.add(this.#address) : 0;
    if (delayMs === 0) return answer();
    const deadline = deadlines.after(delayMs, answer);
    response.once('close', () => deadline.cancel());
  }
}
