/** Who waits for which writes: of the flight that is under way, and of those behind it. */
import { joined, withoutRefused, type Gathered, type Waiter } from '../../engine/batching.ts';

/** At most so many writes go into one flight, unless one caller has more: a set is one text. */
const writesMax = 1_000;
/** And so many characters: it is read before the server gives a statement up. */
const sizeMax = 8 * 1024 * 1024;

export class Waiting<Write, Landed> {
  readonly #sizeOf: (write: Write) => number;
  #writes: Write[] = [];
  #waiting: Waiter<Landed>[] = [];
  /** What is under way; null: nothing is. */
  #sent: Gathered<Write, Landed> | null = null;

  /** @param sizeOf in characters, roughly */
  constructor(sizeOf: (write: Write) => number) {
    this.#sizeOf = sizeOf;
  }

  /** How many callers wait. */
  get count(): number {
    return this.#waiting.length + (this.#sent?.waiting.length ?? 0);
  }

  /** Whether somebody waits for what is not under way yet. */
  get hasMore(): boolean {
    return this.#waiting.length > 0;
  }

  get hasWrites(): boolean {
    return this.#writes.length > 0;
  }

  /** The writes that are under way. */
  get sent(): readonly Write[] | null {
    return this.#sent?.writes ?? null;
  }

  add(write: Write): void {
    this.#writes.push(write);
  }

  /** Waits for all that was added. */
  wait(waiter: Omit<Waiter<Landed>, 'until'>): void {
    this.#waiting.push({ ...waiter, until: this.#writes.length });
  }

  /** What was gathered is under way from now on, as far as it fits into one flight. */
  send(): void {
    const waiting = this.#waiting.splice(0, this.#fit());
    const until = waiting.at(-1)?.until ?? 0;
    this.#sent = { writes: this.#writes.splice(0, until), waiting };
    this.#waiting = this.#waiting.map((one) => ({ ...one, until: one.until - until }));
  }

  /** How many callers go together; the first one goes whatever it has. */
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

  /** What was under way has landed. @returns who waited for it */
  landed(): readonly Waiter<Landed>[] {
    const waiting = this.#sent?.waiting ?? [];
    this.#sent = null;
    return waiting;
  }

  /**
   * Callers who can be refused are, and their writes leave what is gathered. What is under way
   * stays: of that they are told alone.
   */
  refuse(): void {
    const told: (() => void)[] = [];
    const waiting = this.#sent?.waiting.map((one) => {
      if (one.refused === null) return one;
      told.push(one.refused);
      return { ...one, refused: () => {} };
    });
    if (this.#sent !== null) this.#sent = { writes: this.#sent.writes, waiting: waiting! };
    const gathered = withoutRefused({ writes: this.#writes, waiting: this.#waiting });
    ({ writes: this.#writes, waiting: this.#waiting } = joined(nothing(), gathered));
    for (const tell of [...told, ...gathered.refused]) tell();
  }

  /** What was under way has not landed: those who were refused leave it. */
  takeOutRefused(): void {
    if (this.#sent === null) return;
    const { refused, ...kept } = withoutRefused(this.#sent);
    this.#sent = kept;
    for (const tell of refused) tell();
  }

  /** What was under way has not landed, and never will: it was of one caller, who is told. */
  takeOutConflicted(): void {
    const waiting = this.#sent?.waiting ?? [];
    this.#sent = { writes: [], waiting: [] };
    for (const { conflicted } of waiting) conflicted?.();
  }

  /** Nothing will land any more: all who wait get null. */
  end(): void {
    const waiting = [...this.landed(), ...this.#waiting];
    this.#waiting = [];
    this.#writes = [];
    for (const { written } of waiting) written(null);
  }
}

function nothing<Write, Landed>(): Gathered<Write, Landed> {
  return { writes: [], waiting: [] };
}
