/**
 * The connections of a listener. Where there is no room for one more, it takes the place of the one
 * that has been idle for longest, of a stranger before others; where none is idle, of the oldest
 * stranger.
 */
import type { Socket } from 'node:net';
import { Connection } from './connection.ts';
import type { Brakes, ConnectionHandlers, ConnectionLimits } from './connection.ts';
import { LinkedSet } from './linked-set.ts';

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
