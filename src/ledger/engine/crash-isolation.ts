/**
 * Finds the message that ends the process.
 *
 * A message is suspected when it was the next of its conversation at two unclean ends of the
 * process. Suspects run alone, so that only they can be blamed for the next end. These are the
 * phases:
 *
 *     beside (others run) → closing (others end) → alone (suspects run) → open (all run)
 *
 * - beside: everything else runs for `besideMs`, and suspects wait. A process that something
 *   outside ends again and again does not live that long, so no suspect is blamed for it.
 * - closing: no message is claimed and no reply is delivered. The phase ends once the claims under
 *   way have ended, or after `besideMs` more.
 * - alone: suspects run one at a time. A mark on the disk says that a suspect runs alone; it is
 *   written before the run begins.
 * - open: others run again. The remaining suspects still start one at a time. An end of the process
 *   is no evidence against them then, so they stay suspects.
 *
 * A message is poison when the process ended twice while it ran alone. It comes first, and becomes
 * a dead letter without a run.
 *
 * A suspect goes waiting → running → ended (answered or dead), cleared, or waiting again. It waits
 * again when it is given back, which counts as no run. It is cleared when it has run for `aloneMs`.
 * From then on the others start beside it, since a slow model must not stop the service. A cleared
 * message counts as new at the next unclean end, so that it does not precede the guilty one for
 * ever. All suspects together stop the others for `stallMs` at most.
 *
 * Deliveries wait as well: if a delivery ended the process, the suspect would be blamed for it. The
 * price: a message that ends the process only after `aloneMs` is not found.
 */
import type { ChannelKey } from '../../domain/ids.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import { createDeadlines, type Deadline, type Deadlines } from '../../lib/deadlines.ts';
import type { InRow } from './queue.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { Totals } from './totals.ts';

export type Suspect = {
  readonly row: InRow;
  /** How many times the process ended while it ran alone. */
  alone: number;
};

/** Pause between two checks whether the claims of others have ended. */
const pollMs = 20;

/** A message is poison after this many ends of the process while it ran alone. */
export const aloneMax = 2;

/**
 * At most this many suspects run alone after one start, poison messages not counted. The rest run
 * as usual.
 */
const suspectsMax = 16;

/**
 * Chooses the messages that were next at the most unclean ends. The guilty message is among them
 * sooner or later, since the innocent ones are answered in between. Choosing all would make a
 * service that is often ended from outside run its messages one by one.
 * @param tried messages that the working set holds back; it lets go of those not chosen
 * @param known how many suspects there are already
 */
export function chooseSuspects(tried: readonly Suspect[], known = 0): readonly Suspect[] {
  const most = Math.max(0, suspectsMax - known);
  const poison = tried.filter(({ row }) => row.poison);
  const others = tried
    .filter(({ row }) => !row.poison)
    .sort((a, b) => b.row.attempt - a.row.attempt || a.row.seq - b.row.seq);
  for (const { row } of others.slice(most)) row.queue.inBusy = false;
  return [...poison, ...others.slice(0, most)];
}

type IsolatedRows = {
  readonly ready: ReadyQueues;
  readonly totals: Totals;
  takeHeld(row: InRow): void;
  holdAgain(row: InRow): void;
};

export type CrashIsolationDeps = {
  readonly rows: IsolatedRows;
  readonly steady: () => SteadyTime;
  readonly limits: CrashIsolationLimits;
  /**
   * Writes how many times the message has run alone. Resolves to true once that is safe on the
   * disk, to false when it cannot be written.
   */
  readonly mark: (row: InRow, alone: number) => Promise<boolean>;
  /** Writes that the message is no longer suspected. */
  readonly clear: (row: InRow) => void;
};

export type CrashIsolationLimits = {
  /** A message is cleared when it has run alone for this long without an end of the process. */
  readonly aloneMs: number;
  /** How long suspects wait while the others run. */
  readonly besideMs: number;
  /** How long everything else waits for suspects at most, in total. */
  readonly stallMs: number;
};

export class CrashIsolation {
  readonly #deps: CrashIsolationDeps;
  readonly #deadlines: Deadlines;
  /** Suspects that have not run. Those of a channel that is not served stop nothing. */
  #waiting: Suspect[] = [];
  #running: Suspect | null = null;
  /** The running suspect is alone, and its mark is on the disk. */
  #isMarked = false;
  #clearTimer: Deadline | null = null;
  #stallTimer: Deadline | null = null;
  /** The served channels; null: all are. */
  #served: ReadonlySet<ChannelKey> | null = null;
  #phase: 'beside' | 'closing' | 'alone' | 'open' = 'beside';
  #phaseTimer: Deadline | null = null;
  #closed = false;

  constructor(suspects: readonly Suspect[], deps: CrashIsolationDeps) {
    this.#deps = deps;
    this.#deadlines = createDeadlines(deps.steady);
    this.#phase = 'open';
    this.hold(suspects);
  }

  /** Adds suspects. The working set holds each of them back already. */
  hold(suspects: readonly Suspect[]): void {
    if (suspects.length === 0 || this.#closed) return;
    this.#waiting = [...this.#waiting, ...suspects].sort(
      (a, b) =>
        Number(b.row.poison) - Number(a.row.poison) || a.alone - b.alone || a.row.seq - b.row.seq,
    );
    if (this.#phase !== 'open') return this.#notify();
    this.#phase = 'beside';
    this.#stallTimer?.cancel();
    this.#stallTimer = null;
    this.#schedule(this.#deps.limits.besideMs, () => this.#beginClosing());
    this.#notify();
  }

  get suspects(): number {
    return this.#waiting.length + (this.#running === null ? 0 : 1);
  }

  /** Whether everything else waits for suspects now. */
  get isTrying(): boolean {
    return (this.#phase === 'closing' || this.#phase === 'alone') && this.suspects > 0;
  }

  /** Whether this message is suspected. */
  has(row: InRow): boolean {
    return this.#running?.row === row || this.#waiting.some((one) => one.row === row);
  }

  /** The message that runs alone, with its mark on the disk; null: none does. */
  get alone(): InRow | null {
    return this.#isMarked ? (this.#running?.row ?? null) : null;
  }

  /** Whether everything else has to wait now. A call that finds no suspect left opens for good. */
  holdsOthers(): boolean {
    if (this.#phase === 'beside' || this.#phase === 'open') return false;
    if (this.#running !== null || this.#firstWaiting() !== undefined) return true;
    this.#phase = 'open';
    return false;
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#served = new Set(channels);
    this.#notify();
  }

  /** The next suspect, if it may run now and is of this channel; else null. */
  async next(channel: ChannelKey): Promise<InRow | null> {
    const suspect = this.#firstWaiting();
    if (this.#running !== null || suspect?.row.queue.channel !== channel) return null;
    if (!this.#mayRun(suspect)) return null;
    this.#waiting.splice(this.#waiting.indexOf(suspect), 1);
    this.#running = suspect;
    const { row } = suspect;
    if (!row.poison) {
      this.#isMarked = this.#phase === 'alone';
      if (this.#isMarked && !(await this.#mark(suspect, suspect.alone + 1))) return null;
      // It was removed or taken over while its mark was being written.
      if (row.gone) return null;
      if (row.queue.isTakenOver) return this.#notRun(suspect);
      // The suspect has not run, and will not.
      if (this.#closed) {
        if (this.#isMarked) void this.#mark(suspect, suspect.alone - 1);
        return null;
      }
      const { aloneMs, stallMs } = this.#deps.limits;
      this.#clearTimer = this.#deadlines.after(aloneMs, () => this.#clear(suspect));
      if (this.#isMarked)
        this.#stallTimer ??= this.#deadlines.after(stallMs, () => this.#beginOpen());
    }
    this.#deps.rows.takeHeld(row);
    return row;
  }

  /**
   * Takes the next suspect of a channel that is not served, which becomes a dead letter; null:
   * there is none.
   */
  takeUnserved(channel: ChannelKey): InRow | null {
    if (this.#served === null || this.#served.has(channel)) return null;
    const at = this.#waiting.findIndex(
      ({ row: { queue } }) => queue.channel === channel && !queue.isTakenOver,
    );
    if (at < 0) return null;
    const [suspect] = this.#waiting.splice(at, 1);
    this.#deps.rows.takeHeld(suspect!.row);
    return suspect!.row;
  }

  /** Call for every message that is answered or dead. */
  ended(row: InRow): void {
    if (this.#running?.row === row) this.#runEnded();
  }

  /** Call when messages were removed, or when takeovers changed. Removed suspects stop nothing. */
  changed(): void {
    this.#waiting = this.#waiting.filter(({ row }) => !row.gone);
    if (this.#running?.row.gone === true) this.#runEnded();
    else this.#notify();
  }

  /**
   * Call for every message that is given back. @returns true: it is a suspect, and is held again
   */
  released(row: InRow): boolean {
    const suspect = this.#running;
    if (suspect?.row !== row) return false;
    this.#deps.rows.holdAgain(row);
    this.#notRun(suspect);
    return true;
  }

  /** Hands out no suspect from now on. */
  close(): void {
    this.#closed = true;
    this.#phaseTimer?.cancel();
    this.#clearTimer?.cancel();
    this.#stallTimer?.cancel();
  }

  /** A poison message only becomes a dead letter, so it need not wait. */
  #mayRun({ row }: Suspect): boolean {
    return row.poison || this.#phase === 'alone' || this.#phase === 'open';
  }

  /** Begins `closing`, and `alone` once the claims of the others have ended or the time is over. */
  #beginClosing(): void {
    this.#phase = 'closing';
    const { steady, rows, limits } = this.#deps;
    const latestAt = later(steady(), limits.besideMs);
    const poll = (): void => {
      if (rows.totals.claimed.in > 0 && steady() < latestAt) return this.#schedule(pollMs, poll);
      this.#phase = 'alone';
      this.#notify();
    };
    poll();
  }

  #schedule(ms: number, act: () => void): void {
    if (ms <= 0) return act();
    this.#phaseTimer = this.#deadlines.after(ms, act);
  }

  /** A suspect of a taken-over conversation does not run, and stops nothing. */
  #firstWaiting(): Suspect | undefined {
    const isServed = (key: ChannelKey): boolean => this.#served?.has(key) !== false;
    return this.#waiting.find(
      ({ row: { queue } }) => !queue.isTakenOver && isServed(queue.channel),
    );
  }

  #mark(suspect: Suspect, alone: number): Promise<boolean> {
    suspect.alone = alone;
    return this.#deps.mark(suspect.row, alone);
  }

  /** Takes a suspect back that has not run. */
  #notRun(suspect: Suspect): null {
    if (this.#isMarked) void this.#mark(suspect, suspect.alone - 1);
    this.#waiting.unshift(suspect);
    this.#runEnded();
    return null;
  }

  #clear({ row }: Suspect): void {
    this.#deps.clear(row);
    this.#isMarked = false;
    this.#phase = 'open';
    this.#runEnded();
  }

  /**
   * Begins `open` because the others have waited for `stallMs`. The running suspect is not alone
   * any more.
   */
  #beginOpen(): void {
    if (this.#phase === 'open') return;
    this.#phase = 'open';
    if (this.#running !== null && this.#isMarked) {
      void this.#mark(this.#running, this.#running.alone - 1);
      this.#isMarked = false;
    }
    this.#notify();
  }

  #runEnded(): void {
    this.#clearTimer?.cancel();
    this.#clearTimer = null;
    this.#running = null;
    this.#isMarked = false;
    this.#notify();
  }

  /** Notifies the worker pools that may claim now. */
  #notify(): void {
    const { rows } = this.#deps;
    const first = this.#running === null ? this.#firstWaiting() : undefined;
    if (first !== undefined && this.#mayRun(first)) rows.ready.ring('in', first.row.queue.channel);
    if (!this.holdsOthers()) {
      this.#stallTimer?.cancel();
      rows.ready.ringAll();
    }
  }
}
