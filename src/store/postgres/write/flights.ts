/** A stand-in with the surface of what gathers writes into flights; to be replaced. */
import type { Client } from 'pg';
import type { Composed, Rows } from './statement.ts';

export type StorageState = 'ok' | 'full' | 'away';
type Waiter<L> = { readonly landed: (landed: L | null) => void };

export class Flights<W, L> {
  readonly #client: Client;
  readonly #compose: (writes: readonly W[]) => Composed<L>;
  #writes: W[] = [];
  #waiting: Waiter<L>[] = [];
  #flying = false;
  broken = false;
  state: StorageState = 'ok';

  constructor(client: Client, compose: (writes: readonly W[]) => Composed<L>) {
    this.#client = client;
    this.#compose = compose;
  }

  /** Whether this process has shown, within 7 s, that it is still the one that works the rows. */
  get mayHandOut(): boolean {
    return !this.broken;
  }

  get pending(): number {
    return this.#waiting.length;
  }

  onBroken(_failed: (error: Error) => void): void {}
  /** Is told each time that `state` or `mayHandOut` changes. */
  onChange(_changed: () => void): void {}

  add(write: W): void {
    this.#writes.push(write);
  }

  /**
   * @param landed called when all that was added has landed, or with null when it never will
   * @param refused called instead where the disk is full or the server away; left out: the writes wait
   */
  flush(landed: (landed: L | null) => void, _refused: (() => void) | null = null): void {
    this.#waiting.push({ landed });
    if (!this.#flying) void this.#fly();
  }

  flushSoon(landed: (landed: L | null) => void): void {
    this.flush(landed);
  }

  written(then: (landed: L) => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush((landed) => {
        if (landed !== null) then(landed);
        resolve(landed !== null);
      });
    });
  }

  writtenNow(): Promise<boolean> {
    return this.written(() => {});
  }

  async close(): Promise<void> {
    await this.written(() => {});
    this.broken = true;
    await this.#client.end();
  }

  async #fly(): Promise<void> {
    this.#flying = true;
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate);
      const [writes, waiting] = [this.#writes, this.#waiting];
      this.#writes = [];
      this.#waiting = [];
      const { statements, landed } = this.#compose(writes);
      const asked = statements.map(({ text, values }) => this.#client.query(text, [...values]));
      const all = Promise.all([
        this.#client.query('BEGIN'),
        ...asked,
        this.#client.query('COMMIT'),
      ]);
      try {
        const answers: Rows[] = (await all).slice(1, -1).map(({ rows }) => rows as Rows);
        const told = landed(answers);
        for (const one of waiting) one.landed(told);
      } catch (error) {
        this.broken = true;
        console.error(error);
        for (const one of waiting) one.landed(null);
      }
    }
    this.#flying = false;
  }
}
