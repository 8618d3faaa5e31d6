import { LinkedSet } from '../linked-set.ts';
import type { Connection, Exchange } from './exchange.ts';

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
