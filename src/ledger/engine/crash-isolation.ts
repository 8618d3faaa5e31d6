/**
 * Finds the message that ends the process, and restores the rows that a start finds.
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
import type { LedgerNews } from '../ledger.ts';
import {
  attemptsMax,
  type InRow,
  type MessageProgress,
  type OutRow,
  type OutState,
  type StoredMessage,
  type StoredReply,
} from './queue.ts';
import { plannedTry } from './schedule.ts';
import type { WorkingSet } from './working-set.ts';

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
 * @param tried messages that the working set holds back; those not chosen may go on
 * @param known how many suspects there are already
 */
export function chooseSuspects(
  rows: WorkingSet,
  tried: readonly Suspect[],
  known = 0,
): readonly Suspect[] {
  const most = Math.max(0, suspectsMax - known);
  const poison = tried.filter(({ row }) => row.poison);
  const others = tried
    .filter(({ row }) => !row.poison)
    .sort((a, b) => b.row.attempt - a.row.attempt || a.row.seq - b.row.seq);
  for (const { row } of others.slice(most)) rows.goOn(row.queue);
  return [...poison, ...others.slice(0, most)];
}

type CrashIsolationDeps = {
  readonly rows: WorkingSet;
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
  /** The running suspect is alone, and its mark is on the disk or on its way there. */
  #isMarked = false;
  #clearTimer: Deadline | null = null;
  #stallTimer: Deadline | null = null;
  /** The served channels; null: all are. */
  #served: ReadonlySet<ChannelKey> | null = null;
  #phase: 'beside' | 'closing' | 'alone' | 'open' = 'open';
  #phaseTimer: Deadline | null = null;
  #closed = false;

  constructor(suspects: readonly Suspect[], deps: CrashIsolationDeps) {
    this.#deps = deps;
    this.#deadlines = createDeadlines(deps.steady);
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

  /** The message that runs alone, with its mark on the disk or on its way; null: none does. */
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
    if (first !== undefined && this.#mayRun(first)) rows.ring('in', first.row.queue.rows);
    if (!this.holdsOthers()) {
      this.#stallTimer?.cancel();
      rows.ringAll();
    }
  }
}

export type FoundMessage = {
  readonly stored: StoredMessage;
  /** At how many unclean ends it was the next of its conversation. */
  readonly attempts: number;
  /** How many times the process ended while it ran alone. */
  readonly alone: number;
  /** It was a dead letter, was replayed, and has an unsettled reply. */
  readonly answered: boolean;
};
export type FoundReply = {
  readonly stored: StoredReply;
  readonly state: OutState;
  /** The pause that the receiver asked for at the last attempt, in milliseconds; null: none. */
  readonly retryAfterMs: number | null;
};

/** A reply whose next attempt a clock that was ahead planned too late. It is due sooner now. */
export type SoonerReply = {
  readonly row: OutRow;
  readonly dueAt: number;
  /** How much too late it was planned, in milliseconds. */
  readonly aheadMs: number;
};

type LastEnd = {
  /** The process ended without closing its storage. */
  readonly unclean: boolean;
  /** Whether that end counts against the message, if it was the next of its conversation. */
  readonly mayBlame: (row: InRow) => boolean;
  /** Whether the message ran alone when the storage failed. */
  readonly ranAlone: (row: InRow) => boolean;
};

/** The changes to write before anything is handed out. */
export type Recovered = {
  /** Messages that were under way: each gets one attempt more. */
  readonly blamed: InRow[];
  /** Messages whose attempts are reset, since the process ended cleanly. */
  readonly cleared: InRow[];
  /** Messages with a corrected number of runs alone. */
  readonly marked: { readonly row: InRow; readonly alone: number }[];
  /**
   * Replies that were under way and may have been sent. Each gets one attempt more, which does not
   * move it along its schedule.
   */
  readonly died: OutRow[];
  readonly sooner: SoonerReply[];
  readonly suspects: readonly Suspect[];
};

/**
 * Restores the rows that a start finds. It decides where they stand in the working set, which
 * message was under way when the process died, and which reply may have been sent. The storage
 * supplies the rows, and writes the resulting changes.
 */
export class Recovering {
  readonly #rows: WorkingSet;
  readonly #end: LastEnd;
  readonly #now: number;
  readonly #progressOf = new Map<string, MessageProgress>();
  readonly #suspected: Suspect[] = [];
  readonly #changes: Omit<Recovered, 'suspects'> = {
    blamed: [],
    cleared: [],
    marked: [],
    died: [],
    sooner: [],
  };

  /** @param now milliseconds since 1970: a reply due by then may have been sent */
  constructor(rows: WorkingSet, end: LastEnd, now: number) {
    this.#rows = rows;
    this.#end = end;
    this.#now = now;
    rows.restoring(true);
  }

  /** Restores a message. Call in order, for all messages before the first reply. */
  message({ stored, answered, ...counts }: FoundMessage): void {
    const row = this.#rows.restoreMessage(stored);
    const { unclean, mayBlame, ranAlone } = this.#end;
    // A message of a taken-over conversation was not at work.
    const head = unclean && !row.queue.isTakenOver && row.queue.inbox.peek() === row;
    const blamed = head && mayBlame(row);
    const alone = counts.alone - (ranAlone(row) ? 1 : 0);
    if (alone < counts.alone) this.#changes.marked.push({ row, alone });
    const poison = alone >= aloneMax;
    const cleared = !unclean && !poison;
    const attempts = cleared ? 0 : counts.attempts + (blamed ? 1 : 0);
    if (blamed) this.#changes.blamed.push(row);
    if (cleared && counts.attempts > 0) this.#changes.cleared.push(row);
    const suspect = poison || (head && attempts >= attemptsMax);
    row.attempt = attempts + 1;
    row.poison = poison;
    if (suspect) {
      this.#rows.hold(stored.channel, stored.conversation);
      this.#suspected.push({ row, alone });
    }
    if (answered) this.#progressOf.set(row.head.id, row.progress);
  }

  /** Restores a reply. Call in the order in which the replies were made. */
  reply({ stored, state, retryAfterMs }: FoundReply): void {
    const { inReplyTo } = stored.head;
    const { dueAt, aheadMs } = plannedTry(state, retryAfterMs, this.#now);
    const progress = this.#progressOf.get(inReplyTo) ?? null;
    const row = this.#rows.restoreReply(stored, progress, { ...state, dueAt });
    this.#progressOf.set(inReplyTo, row.progress);
    if (dueAt !== null && aheadMs > 0) this.#changes.sooner.push({ row, dueAt, aheadMs });
    // By a clock that was ahead it may have been due, and may have been sent.
    const wasDue = aheadMs > 0 || (dueAt ?? 0) <= this.#now;
    const isHead = row.parked || row.queue.outbox.peek() === row;
    if (!this.#end.unclean || !wasDue || !isHead) return;
    this.#changes.died.push(row);
    row.attempt++;
    // The receiver is not to blame for a crash loop, so it moves no reply along its schedule.
    row.replayedAfter++;
    row.possibleDuplicate = true;
  }

  /** Call when all rows are restored. */
  done(): Recovered {
    const suspects = chooseSuspects(this.#rows, this.#suspected);
    this.#rows.restoring(false);
    return { ...this.#changes, suspects };
  }
}

/** Reports that the clock was ahead, if any reply is due sooner. */
export function reportSooner(
  sooner: readonly Pick<SoonerReply, 'aheadMs'>[],
  news?: LedgerNews,
): void {
  if (sooner.length === 0) return;
  const aheadMs = sooner.reduce((most, one) => Math.max(most, one.aheadMs), 0);
  news?.clockWasAhead?.({ replies: sooner.length, aheadMs });
}
