/**
 * What is written in one go becomes one flight, and a flight is sent as soon as the one before has
 * landed. So a lone message waits for nothing, and under load many share one commit.
 *
 * A flight is gathering → sent → landed | undone (sent again) | failed. Two causes that pass hold
 * up the flights, and `state` tells which: `full`, the server's disk has no room; `away`, it has
 * not answered for five seconds. Then callers who can be refused are refused, and their writes
 * taken out; all others wait in their order. A flight in doubt may have landed after all: then
 * `landed` is called after `refused`.
 * A flight is a beat, too: where nothing is written, an empty one goes every second.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { SteadyTime } from '../../../lib/clock.ts';
import { endsWithin } from '../../../lib/lifetime.ts';
import type { Waiter } from '../../engine/batching.ts';
import { whenLate as lateByTimer } from './late.ts';
import type { Composed, Asked, Rows } from './statement.ts';
import { Waiting } from './waiting.ts';
import { errorOf, type Behind, type Outcome, type Writer } from './writer.ts';

export type StorageState = 'ok' | 'full' | 'away';

export type BatchesDeps<Write, Landed> = {
  readonly compose: (writes: readonly Write[]) => Composed<Landed>;
  /** How many characters a write has, roughly; left out: few. */
  readonly sizeOf?: (write: Write) => number;
  readonly steady: () => SteadyTime;
  readonly times: BatchTimes;
  /** Calls back when the server is away; left out: by a timer. */
  readonly whenLate?: typeof lateByTimer;
  /** What goes behind the flights; left out: nothing does. */
  readonly trailing?: TrailingTransaction;
};

export class Batches<Write, Landed> {
  readonly #writer: Writer;
  readonly #deps: BatchesDeps<Write, Landed>;
  #failed: (error: Error) => void = () => {};
  #changed: () => void = () => {};
  readonly #waiting: Waiting<Write, Landed>;
  readonly #trailing: TrailingTransaction;
  readonly #wakeTimer: WakeTimer;
  #running = false;
  /** Taken from the rear, and not sent yet. */
  #behind: Behind | null = null;
  #roomAsked = false;
  #state: StorageState = 'ok';
  #broken = false;
  #closing = false;
  /** All is written: no flight goes any more. */
  #ended = false;
  #confirmedAt: SteadyTime;

  constructor(writer: Writer, deps: BatchesDeps<Write, Landed>) {
    this.#writer = writer;
    this.#deps = deps;
    this.#waiting = new Waiting(deps.sizeOf ?? (() => 0));
    this.#trailing = deps.trailing ?? noTrailing;
    this.#confirmedAt = deps.steady();
    this.#wakeTimer = new WakeTimer(deps.steady, () => void this.#run());
    this.#wakeTimer.within(deps.times.heartbeatMs);
  }

  /** Is told once, when nothing can be written any more. */
  onBroken(failed: (error: Error) => void): void {
    this.#failed = failed;
  }

  /** Is told each time that `state` changes, and when `mayHandOut` is true again. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  get state(): StorageState {
    return this.#state;
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** Writes asked for that have not landed. */
  get pending(): number {
    return this.#waiting.count;
  }

  /** False while another instance may have taken over: nothing may be begun then. */
  get mayHandOut(): boolean {
    const { steady, times } = this.#deps;
    return !this.#broken && steady() - this.#confirmedAt <= times.holdMs;
  }

  add(write: Write): void {
    this.#waiting.add(write);
  }

  /**
   * `landed` is called when all that was added has landed, or with null when it never will.
   * @param refused called instead while nothing can be written; left out: the writes wait
   */
  flush(written: (landed: Landed | null) => void, refused: (() => void) | null = null): void {
    if (this.#wait({ written, refused })) this.#wakeTimer.now();
  }

  /** Like `flush`, for what goes in a flight of its own since it may conflict with others. */
  flushAlone(waiter: Required<Omit<Waiter<Landed>, 'until'>>): void {
    if (this.#wait(waiter)) this.#wakeTimer.now();
  }

  /** Like `flush`, but may wait a few milliseconds for other writes to go with. */
  flushSoon(written: (landed: Landed | null) => void): void {
    if (this.#wait({ written, refused: null })) this.#wakeTimer.within(lazyMs);
  }

  /** Something is to go behind a flight. */
  trailingSoon(): void {
    if (!this.#broken && !this.#running) this.#wakeTimer.within(this.#restMs);
  }

  /** Resolves once all that was added has landed and `then` was done; false when it cannot. */
  written(then: (landed: Landed) => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush((landed) => {
        if (landed !== null) then(landed);
        resolve(landed !== null);
      });
    });
  }

  /** Like `written`, but resolves to false at once while nothing can be written. */
  writtenNow(): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush(
        (landed) => resolve(landed !== null),
        () => resolve(false),
      );
    });
  }

  /**
   * Writes what is left, and says that this end is an orderly one. What cannot be written in time
   * is left: the next start finds it as after a crash.
   */
  async close(): Promise<void> {
    this.#closing = true;
    await endsWithin(this.#writeLeft(), this.#deps.times.closeMs);
    this.abandon();
  }

  /** Ends at once, without a word. */
  abandon(): void {
    this.#end(() => {});
  }

  async #writeLeft(): Promise<void> {
    do {
      await this.written(() => {});
      // A caller that was answered just now may have something to add.
      await new Promise(setImmediate);
    } while (!this.#broken && this.#waiting.hasWrites);
    while (this.#running) await new Promise(setImmediate);
    this.#ended = true;
    if (!this.#broken) await this.#writer.end().catch(() => {});
  }

  /** @returns whether there is something new to send */
  #wait(waiter: Omit<Waiter<Landed>, 'until'>): boolean {
    if (this.#broken) {
      queueMicrotask(() => waiter.written(null));
      return false;
    }
    this.#waiting.wait(waiter);
    if (waiter.refused === null || this.#state === 'ok') return !this.#running;
    this.#waiting.refuse();
    return false;
  }

  /** Sends flights until nobody waits. */
  async #run(): Promise<void> {
    if (this.#running || this.#broken || this.#ended) return;
    this.#running = true;
    this.#wakeTimer.clear();
    if (!(await this.#letGo())) {
      do await this.#fly();
      while (!this.#broken && this.#waiting.hasMore);
    }
    this.#running = false;
    if (this.#broken) return;
    if (this.#waiting.hasMore) return this.#wakeTimer.now();
    this.#wakeTimer.within(this.#restMs);
  }

  /** When a flight goes, or what is behind, though nothing is written. */
  get #restMs(): number {
    return Math.min(this.#trailing.withinMs ?? Infinity, this.#deps.times.heartbeatMs);
  }

  /**
   * What only lets go needs no flight, as long as one has landed lately.
   * @returns false: a flight is to go
   */
  async #letGo(): Promise<boolean> {
    const { steady, times } = this.#deps;
    const isFresh = steady() - this.#confirmedAt < times.heartbeatMs && this.#state === 'ok';
    if (this.#waiting.hasMore || this.#trailing.withinMs === null || !isFresh) return false;
    const behind = this.#trailing.take(true);
    if (behind.takes) {
      this.#behind = behind;
      return false;
    }
    this.#trailing.landed(behind.asked.length === 0 ? [] : await this.#writer.letGo(behind.asked));
    return true;
  }

  /** Until it has landed, or nothing can. */
  async #fly(): Promise<void> {
    this.#waiting.send();
    let againMs = againMsMin;
    let undoneFrom: SteadyTime | null = null;
    let away = this.#watch();
    while (!this.#broken) {
      const outcome = await this.#try();
      if (outcome.kind === 'landed') break;
      if (outcome.kind === 'full') {
        this.#enter('full');
        this.#waiting.takeOutRefused();
        // It has answered.
        away();
        await pause(this.#deps.times.fullRetryMs);
        away = this.#watch();
      } else if (outcome.kind === 'conflict') {
        this.#waiting.takeOutConflicted();
      } else if (outcome.kind === 'undone' && !this.#isLong(undoneFrom)) {
        undoneFrom = outcome.why === null ? null : (undoneFrom ?? this.#deps.steady());
        if (this.#state !== 'ok') this.#waiting.takeOutRefused();
        await pause(againMs);
        againMs = Math.min(2 * againMs, againMsMax);
      } else if (!this.#broken) this.#end(() => this.#failed(errorOf(outcome)));
    }
    away();
  }

  #isLong(undoneFrom: SteadyTime | null): boolean {
    const { steady, times } = this.#deps;
    return undoneFrom !== null && steady() - undoneFrom > times.undoneMs;
  }

  async #try(): Promise<Outcome> {
    const composed = this.#deps.compose(this.#waiting.sent ?? []);
    const begunAt = this.#deps.steady();
    const asksRoom = this.#state === 'full';
    const extra = asksRoom ? [roomTaken] : this.#roomAsked ? [roomGiven] : [];
    const behind = this.#behind ?? this.#trailing.take();
    this.#behind = null;
    const outcome = await this.#writer.fly([...composed.statements, ...extra], behind);
    if (outcome.kind !== 'landed') this.#trailing.landed(null);
    if (outcome.kind !== 'landed' || this.#broken) return outcome;
    this.#roomAsked = asksRoom;
    const landed = composed.landed(outcome.answers);
    const waiting = this.#waiting.landed();
    this.#confirm(begunAt);
    for (const { written } of waiting) written(landed);
    this.#trailing.landed(outcome.behind);
    return outcome;
  }

  #confirm(begunAt: SteadyTime): void {
    const isNews = this.#state !== 'ok' || !this.mayHandOut;
    this.#state = 'ok';
    this.#confirmedAt = begunAt;
    if (isNews) this.#changed();
  }

  /** @returns to be called once the server has answered */
  #watch(): () => void {
    const { times, whenLate = lateByTimer } = this.#deps;
    return whenLate(times.awayMs, () => this.#enter('away'));
  }

  #enter(state: 'full' | 'away'): void {
    if (this.#broken || this.#closing) return;
    const isNews = this.#state !== state;
    this.#state = state;
    this.#waiting.refuse();
    if (isNews) this.#changed();
  }

  #end(tell: () => void): void {
    this.#broken = true;
    this.#wakeTimer.clear();
    this.#writer.close();
    tell();
    this.#waiting.end();
    this.#trailing.end();
  }
}

// How it is found out that the server's disk has room again: by writing what takes some.

/** 64 KiB that no compression shortens, so that there is more room than for a word. */
const roomTaken: Asked = {
  text:
    "INSERT INTO svc.cursor SELECT '', 'room', string_agg(gen_random_uuid()::text, '') " +
    'FROM generate_series(1, 1820) ' +
    'ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value',
  values: [],
};
const roomGiven: Asked = { text: "DELETE FROM svc.cursor WHERE channel = ''", values: [] };

/** When something is to run next: of several times the earliest counts. */
class WakeTimer {
  readonly #steady: () => SteadyTime;
  readonly #run: () => void;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;
  #isScheduled = false;

  /** @param run is called at the time, and may set another one */
  constructor(steady: () => SteadyTime, run: () => void) {
    this.#steady = steady;
    this.#run = run;
  }

  /** When all that happens just now is over. */
  now(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#run();
    });
  }

  within(ms: number): void {
    const at = this.#steady() + ms;
    if (at >= this.#timerAt) return;
    this.clear();
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      this.#run();
    }, ms);
  }

  /** What was set for a time is not to come. */
  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#timerAt = Infinity;
  }
}

/** What goes behind a flight, gathered when it is sent. */
export interface TrailingTransaction {
  /** Within how many milliseconds something is to go; null: nothing is. */
  readonly withinMs: number | null;
  /** What goes now. @param isEarly also what may still wait for company */
  take(isEarly?: boolean): Behind;
  /** Of what was taken. @param answers null: whether it has landed is not known */
  landed(answers: readonly Rows[] | null): void;
  /** Nothing goes any more. */
  end(): void;
}

const noTrailing: TrailingTransaction = {
  withinMs: null,
  take: () => ({ asked: [], takes: false }),
  landed: () => {},
  end: () => {},
};

/** How long flights may take, and what it means when they take longer. */
export type BatchTimes = {
  /** Without a landing for so long the server is away. */
  readonly awayMs: number;
  /** Without a flight for so long an empty one goes. */
  readonly heartbeatMs: number;
  /** Without a landing for so long another instance may have taken over. */
  readonly holdMs: number;
  /** A flight that the server undoes for so long fails. */
  readonly undoneMs: number;
  /** For what is left to write when this closes. */
  readonly closeMs: number;
  /** After so long a full disk is tried again. */
  readonly fullRetryMs: number;
};

export const batchTimes: BatchTimes = {
  awayMs: 5_000,
  heartbeatMs: 1_000,
  holdMs: 7_000,
  undoneMs: 60_000,
  closeMs: 10_000,
  fullRetryMs: 1_000,
};

/** For how long a write that nobody waits for may wait for company. */
export const lazyMs = 5;
/** After a deadlock or a time-out. */
const againMsMin = 10;
const againMsMax = 1_000;
