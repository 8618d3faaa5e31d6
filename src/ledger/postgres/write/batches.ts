/**
 * Groups writes into batches, one transaction each. A batch is sent as soon as the one before it is
 * committed. So a single message does not wait, and under load many messages share one commit.
 *
 * States of a batch: collecting → sent → landed (committed) | undone (sent again) | failed.
 *
 * `state` says why batches are delayed: `full`, the disk of the server has no room; `away`, the
 * server has not answered for 5 s. In both states callers who can be refused are refused, and
 * their writes leave the queue. All other callers wait in their order. A batch whose answer was
 * lost may still be committed: then `written` is called after `refused`.
 *
 * A batch is also the heartbeat of the instance: without writes an empty batch goes every second.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { SteadyTime } from '../../../lib/clock.ts';
import { endsWithin } from '../../../lib/lifetime.ts';
import type { Waiter } from '../../engine/batching.ts';
import { whenLate as lateByTimer } from './late.ts';
import type { Composed, Query, Rows } from './statement.ts';
import { Waiting } from './waiting.ts';
import { errorOf, type TrailingStatements, type Outcome, type Writer } from './writer.ts';

export type StorageState = 'ok' | 'full' | 'away';

export type BatchesDeps<Write, Landed> = {
  readonly compose: (writes: readonly Write[]) => Composed<Landed>;
  /** The approximate size of a write in characters; absent: all writes are small. */
  readonly sizeOf?: (write: Write) => number;
  readonly steady: () => SteadyTime;
  readonly times: BatchTimes;
  /** The timer that finds that the server is away; absent: `whenLate` of late.ts. */
  readonly whenLate?: typeof lateByTimer;
  /** The transaction that follows each batch; absent: there is none. */
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
  /** Statements taken from the trailing transaction that were not sent yet. */
  #taken: TrailingStatements | null = null;
  #hasTestRow = false;
  #state: StorageState = 'ok';
  #broken = false;
  #closing = false;
  /** Everything is written, and no more batches are sent. */
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

  /** Registers a callback for the moment when nothing can be written any more. It runs once. */
  onBroken(failed: (error: Error) => void): void {
    this.#failed = failed;
  }

  /** Registers a callback for changes of `state`, and for `mayHandOut` becoming true again. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  get state(): StorageState {
    return this.#state;
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** How many callers wait for a commit. */
  get pending(): number {
    return this.#waiting.count;
  }

  /** False while another instance may have taken over. Then the ledger hands out no work. */
  get mayHandOut(): boolean {
    const { steady, times } = this.#deps;
    return !this.#broken && steady() - this.#confirmedAt <= times.holdMs;
  }

  add(write: Write): void {
    this.#waiting.add(write);
  }

  /**
   * Sends all writes that were added before.
   * @param written called after their commit, or with null when they can never be committed
   * @param refused called instead while nothing can be written; absent: the writes wait
   */
  flush(written: (landed: Landed | null) => void, refused: (() => void) | null = null): void {
    if (this.#wait({ written, refused })) this.#wakeTimer.now();
  }

  /** Like `flush`, but in a batch of its own, since the writes may conflict with others. */
  flushAlone(waiter: Required<Omit<Waiter<Landed>, 'until'>>): void {
    if (this.#wait(waiter)) this.#wakeTimer.now();
  }

  /** Like `flush`, but may wait up to `lazyMs` so that other writes share the batch. */
  flushSoon(written: (landed: Landed | null) => void): void {
    if (this.#wait({ written, refused: null })) this.#wakeTimer.within(lazyMs);
  }

  /** The trailing transaction has something to send. */
  trailingSoon(): void {
    if (!this.#broken && !this.#running) this.#wakeTimer.within(this.#restMs);
  }

  /** Resolves to true after the commit and after `then`; to false when there is no commit. */
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
   * Writes all remaining writes, and marks the end of the instance as orderly. After `closeMs` it
   * gives up; then the next start recovers as after a crash.
   */
  async close(): Promise<void> {
    this.#closing = true;
    await endsWithin(this.#writeLeft(), this.#deps.times.closeMs);
    this.abandon();
  }

  /** Ends at once and writes nothing more. */
  abandon(): void {
    this.#end(() => {});
  }

  async #writeLeft(): Promise<void> {
    do {
      await this.written(() => {});
      // The callback of a caller may add another write.
      await new Promise(setImmediate);
    } while (!this.#broken && this.#waiting.hasWrites);
    while (this.#running) await new Promise(setImmediate);
    this.#ended = true;
    if (!this.#broken) await this.#writer.end().catch(() => {});
  }

  /** @returns whether the caller must start a run */
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

  /** Sends batches until no caller waits. */
  async #run(): Promise<void> {
    if (this.#running || this.#broken || this.#ended) return;
    this.#running = true;
    this.#wakeTimer.clear();
    if (!(await this.#release())) {
      do await this.#writeBatch();
      while (!this.#broken && this.#waiting.hasMore);
    }
    this.#running = false;
    if (this.#broken) return;
    if (this.#waiting.hasMore) return this.#wakeTimer.now();
    this.#wakeTimer.within(this.#restMs);
  }

  /** After how long an idle instance sends its heartbeat or its trailing transaction. */
  get #restMs(): number {
    return Math.min(this.#trailing.withinMs ?? Infinity, this.#deps.times.heartbeatMs);
  }

  /**
   * Sends the trailing transaction alone: statements that only release queues need no batch, as
   * long as a recent batch is committed.
   * @returns false: a batch must go
   */
  async #release(): Promise<boolean> {
    const { steady, times } = this.#deps;
    const isFresh = steady() - this.#confirmedAt < times.heartbeatMs && this.#state === 'ok';
    if (this.#waiting.hasMore || this.#trailing.withinMs === null || !isFresh) return false;
    const behind = this.#trailing.take(true);
    if (behind.takes) {
      this.#taken = behind;
      return false;
    }
    this.#trailing.landed(
      behind.asked.length === 0 ? [] : await this.#writer.release(behind.asked),
    );
    return true;
  }

  /** Sends one batch until it is committed, or until nothing can be written any more. */
  async #writeBatch(): Promise<void> {
    this.#waiting.send();
    let againMs = againMsMin;
    let undoneFrom: SteadyTime | null = null;
    let away = this.#watch();
    while (!this.#broken) {
      const outcome = await this.#tryOnce();
      if (outcome.kind === 'landed') break;
      if (outcome.kind === 'full') {
        this.#changeState('full');
        this.#waiting.takeOutRefused();
        // The server has answered, so it is not away.
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

  async #tryOnce(): Promise<Outcome> {
    const composed = this.#deps.compose(this.#waiting.sent ?? []);
    const begunAt = this.#deps.steady();
    const asksRoom = this.#state === 'full';
    const extra = asksRoom ? [insertTestRow] : this.#hasTestRow ? [deleteTestRow] : [];
    const behind = this.#taken ?? this.#trailing.take();
    this.#taken = null;
    const outcome = await this.#writer.writeBatch([...composed.statements, ...extra], behind);
    if (outcome.kind !== 'landed') this.#trailing.landed(null);
    if (outcome.kind !== 'landed' || this.#broken) return outcome;
    this.#hasTestRow = asksRoom;
    const landed = composed.landed(outcome.answers);
    const waiting = this.#waiting.landed();
    this.#confirm(begunAt);
    for (const { written } of waiting) written(landed);
    this.#trailing.landed(outcome.behind);
    return outcome;
  }

  #confirm(begunAt: SteadyTime): void {
    const isChanged = this.#state !== 'ok' || !this.mayHandOut;
    this.#state = 'ok';
    this.#confirmedAt = begunAt;
    if (isChanged) this.#changed();
  }

  /** @returns stops the watch; call it when the server has answered */
  #watch(): () => void {
    const { times, whenLate = lateByTimer } = this.#deps;
    return whenLate(times.awayMs, () => this.#changeState('away'));
  }

  #changeState(state: 'full' | 'away'): void {
    if (this.#broken || this.#closing) return;
    const isChanged = this.#state !== state;
    this.#state = state;
    this.#waiting.refuse();
    if (isChanged) this.#changed();
  }

  #end(report: () => void): void {
    this.#broken = true;
    this.#wakeTimer.clear();
    this.#writer.close();
    report();
    this.#waiting.end();
    this.#trailing.end();
  }
}

// While the disk of the server is full, a batch also writes a large row, to find room again.

/** 64 KiB that compression cannot shorten. So there is more room than for one small row. */
const insertTestRow: Query = {
  text:
    "INSERT INTO svc.cursor SELECT '', 'room', string_agg(gen_random_uuid()::text, '') " +
    'FROM generate_series(1, 1820) ' +
    'ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value',
  values: [],
};
const deleteTestRow: Query = { text: "DELETE FROM svc.cursor WHERE channel = ''", values: [] };

/** Runs a function at the earliest of the requested times. */
class WakeTimer {
  readonly #steady: () => SteadyTime;
  readonly #run: () => void;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;
  #isScheduled = false;

  /** @param run may request the next time itself */
  constructor(steady: () => SteadyTime, run: () => void) {
    this.#steady = steady;
    this.#run = run;
  }

  /** Runs after the callbacks of the present turn of the event loop. */
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

  /** Cancels the timer, but not a run requested by `now`. */
  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#timerAt = Infinity;
  }
}

/** The source of the transaction that follows a batch. Its statements are collected at the send. */
export interface TrailingTransaction {
  /** The longest wait of its statements in milliseconds; null: there are none. */
  readonly withinMs: number | null;
  /** Takes the statements to send now. @param isEarly also those that could still wait */
  take(isEarly?: boolean): TrailingStatements;
  /** The taken statements were sent. @param answers null: nobody knows whether they committed */
  landed(answers: readonly Rows[] | null): void;
  /** Nothing is sent any more. */
  end(): void;
}

const noTrailing: TrailingTransaction = {
  withinMs: null,
  take: () => ({ asked: [], takes: false }),
  landed: () => {},
  end: () => {},
};

/** The times of batches. */
export type BatchTimes = {
  /** After so long without an answer the server counts as away. */
  readonly awayMs: number;
  /** After so long without a batch an empty one goes. */
  readonly heartbeatMs: number;
  /** After so long without a commit another instance may have taken over. */
  readonly holdMs: number;
  /** A batch fails when the server rolls it back for so long. */
  readonly undoneMs: number;
  /** How long `close` may write. */
  readonly closeMs: number;
  /** The pause between tries on a full disk. */
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

/** How long a write of `flushSoon` may wait so that other writes share its batch. */
export const lazyMs = 5;
/** The pause after a deadlock or a timeout; it doubles with each try. */
const againMsMin = 10;
const againMsMax = 1_000;
