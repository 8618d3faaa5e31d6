/** Writes with their waiters: the batch that was sent, and the writes that come after it. */
import { joined, withoutRefused, type Batch, type Waiter } from '../../engine/batching.ts';

/** The most writes of one batch, unless one caller has more: a set is one JSON text. */
const writesMax = 1_000;
/** The most characters of one batch. The server must read them within its statement timeout. */
const sizeMax = 8 * 1024 * 1024;

export class Waiting<Write, Landed> {
  readonly #sizeOf: (write: Write) => number;
  #writes: Write[] = [];
  #waiting: Waiter<Landed>[] = [];
  /** The batch that was sent and has no outcome yet; null: there is none. */
  #sent: Batch<Write, Landed> | null = null;

  /** @param sizeOf the approximate size of a write in characters */
  constructor(sizeOf: (write: Write) => number) {
    this.#sizeOf = sizeOf;
  }

  /** How many callers wait, for the sent batch or a later one. */
  get count(): number {
    return this.#waiting.length + (this.#sent?.waiting.length ?? 0);
  }

  /** Whether a caller waits for writes that were not sent yet. */
  get hasMore(): boolean {
    return this.#waiting.length > 0;
  }

  get hasWrites(): boolean {
    return this.#writes.length > 0;
  }

  /** The writes of the sent batch; null: no batch is sent. */
  get sent(): readonly Write[] | null {
    return this.#sent?.writes ?? null;
  }

  add(write: Write): void {
    this.#writes.push(write);
  }

  /** Adds a waiter for all writes that were added before. */
  wait(waiter: Omit<Waiter<Landed>, 'until'>): void {
    this.#waiting.push({ ...waiter, until: this.#writes.length });
  }

  /** Makes the sent batch of the writes that wait, as many as fit into one batch. */
  send(): void {
    const waiting = this.#waiting.splice(0, this.#fit());
    const until = waiting.at(-1)?.until ?? 0;
    this.#sent = { writes: this.#writes.splice(0, until), waiting };
    this.#waiting = this.#waiting.map((one) => ({ ...one, until: one.until - until }));
  }

  /** How many callers fit into the next batch. The first caller always does, whatever its size. */
  #fit(): number {
    let size = 0;
    let from = 0;
    for (const [at, { until, conflicted }] of this.#waiting.entries()) {
      if (conflicted !== undefined) return Math.max(1, at);
      for (; from < until; from++) size += this.#sizeOf(this.#writes[from]!);
      if (at > 0 && (until > writesMax || size > sizeMax)) return at;
    }
    return this.#waiting.length;
  }

  /** The sent batch is committed. @returns the waiters of that batch */
  landed(): readonly Waiter<Landed>[] {
    const waiting = this.#sent?.waiting ?? [];
    this.#sent = null;
    return waiting;
  }

  /**
   * Refuses all callers who can be refused, and drops their writes that were not sent. The writes
   * of the sent batch stay in it, since it may still be committed.
   */
  refuse(): void {
    const refusals: (() => void)[] = [];
    const waiting = this.#sent?.waiting.map((one) => {
      if (one.refused === null) return one;
      refusals.push(one.refused);
      return { ...one, refused: () => {} };
    });
    if (this.#sent !== null) this.#sent = { writes: this.#sent.writes, waiting: waiting! };
    const gathered = withoutRefused({ writes: this.#writes, waiting: this.#waiting });
    ({ writes: this.#writes, waiting: this.#waiting } = joined(nothing(), gathered));
    for (const refuse of [...refusals, ...gathered.refused]) refuse();
  }

  /** The sent batch is not committed: takes out the writes of refused callers. */
  takeOutRefused(): void {
    if (this.#sent === null) return;
    const { refused, ...kept } = withoutRefused(this.#sent);
    this.#sent = kept;
    for (const refuse of refused) refuse();
  }

  /** The sent batch failed by a conflict. It belongs to one caller, who gets `conflicted`. */
  takeOutConflicted(): void {
    const waiting = this.#sent?.waiting ?? [];
    this.#sent = { writes: [], waiting: [] };
    for (const { conflicted } of waiting) conflicted?.();
  }

  /** Ends: nothing is committed any more, and each waiter gets null. */
  end(): void {
    const waiting = [...this.landed(), ...this.#waiting];
    this.#waiting = [];
    this.#writes = [];
    for (const { written } of waiting) written(null);
  }
}

function nothing<Write, Landed>(): Batch<Write, Landed> {
  return { writes: [], waiting: [] };
}
