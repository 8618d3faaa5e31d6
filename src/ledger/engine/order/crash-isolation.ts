/**
 * Finds the message that ends the process. A message is a suspect when it was the next of its
 * conversation at two unclean ends. Suspects are held while everything else runs for `besideMs`: a
 * process that is ended from outside again and again does not live that long, and says nothing
 * about them. Then the others are held: no message is claimed any more and no reply is delivered,
 * and once those under way have ended (or for `besideMs` more have not ended the process), the
 * suspects run one at a time, each alone, so that an end of the process can only be its doing. A
 * mark on the disk says that a suspect runs alone, before it begins. A message is condemned when
 * the process ended twice while it ran alone: it comes first, and is buried instead of run.
 *
 *     beside (others run) → closing (others end) → alone (suspects run) → open (all run)
 *
 * A suspect is held → newest → ended (answered or buried) | cleared | held (given back, and then it
 * has not run). It is cleared when it has run for `aloneMs`: from then on the others start beside
 * it, since a hung or slow model must not stop the service; and it counts as new at the next
 * unclean end, so that it does not stand before the guilty one for ever. All suspects together hold
 * the others up for `stallMs` at most. Once others run again, the suspects that are left still
 * start one at a time, but an end of the process is no evidence against them: they stay suspects.
 *
 * Deliveries wait as well: if one of them ended the process, the suspect would be buried for it.
 * The price: a message that ends the process only after `aloneMs` is not found.
 */
import type { ChannelKey } from '../../../domain/ids.ts';
import { later, type SteadyTime } from '../../../lib/clock.ts';
import { createDeadlines, type Deadline, type Deadlines } from '../../../lib/deadlines.ts';
import type { InRow } from './rows.ts';
import type { ReadyQueues } from './ready-queues.ts';
import type { Totals } from './totals.ts';

export type Suspect = {
  readonly row: InRow;
  /** How often it has run alone when the process ended. */
  alone: number;
};

/** How often to look whether the others have ended. */
const lookMs = 20;

/** A message is condemned after so many ends of the process while it ran alone. */
export const aloneMax = 2;
/** A message is a suspect when it was the next of its conversation at so many unclean ends. */
export const attemptsMax = 2;

/** So many suspects are tried alone after one start, the condemned apart; the rest run as usual. */
const suspectsMax = 16;

/**
 * Chooses those that were next at the most unclean ends. The message that ends the process is among
 * them sooner or later, since those that only ran beside it are answered in between. If all were
 * chosen, a service that is ended again and again from outside would only try them one by one.
 * @param tried held in the working set; those not chosen are held no more
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

/** The part of the working set that crash isolation needs. */
type IsolatedRows = {
  readonly ready: ReadyQueues;
  readonly totals: Totals;
  takeHeld(row: InRow): void;
  holdAgain(row: InRow): void;
};

/** Whether that message may have ended the process: so it runs alone, joined to no other. */
export function isSuspect({ attempt, poison }: InRow): boolean {
  return poison || attempt > attemptsMax;
}

export type CrashIsolationDeps = {
  readonly rows: IsolatedRows;
  readonly steady: () => SteadyTime;
  readonly limits: CrashIsolationLimits;
  /** Writes down how often it has run alone. Resolves once that is safe; false: it cannot be. */
  readonly mark: (row: InRow, alone: number) => Promise<boolean>;
  /** Writes down that it is no suspect. */
  readonly clear: (row: InRow) => void;
};

export type CrashIsolationLimits = {
  /** A message that has run alone for so long without the process ending is no suspect. */
  readonly aloneMs: number;
  /** How long a suspect waits beside the others before it runs alone. */
  readonly besideMs: number;
  /** For how long everything else waits for suspects, all told. */
  readonly stallMs: number;
};

export class CrashIsolation {
  readonly #deps: CrashIsolationDeps;
  readonly #deadlines: Deadlines;
  /** Those among them whose channel is not served hold nothing up. */
  #held: Suspect[] = [];
  #newest: Suspect | null = null;
  /** The newest suspect runs alone, and has its mark on the disk. */
  #marked = false;
  #aside: Deadline | null = null;
  #stall: Deadline | null = null;
  /** The channels that are served; null: all are. */
  #served: ReadonlySet<ChannelKey> | null = null;
  #phase: 'beside' | 'closing' | 'alone' | 'open' = 'beside';
  #turn: Deadline | null = null;
  #closed = false;

  constructor(suspects: readonly Suspect[], deps: CrashIsolationDeps) {
    this.#deps = deps;
    this.#deadlines = createDeadlines(deps.steady);
    this.#phase = 'open';
    this.hold(suspects);
  }

  /** More suspects have been found. Each is held in the working set already. */
  hold(suspects: readonly Suspect[]): void {
    if (suspects.length === 0 || this.#closed) return;
    this.#held = [...this.#held, ...suspects].sort(
      (a, b) =>
        Number(b.row.poison) - Number(a.row.poison) || a.alone - b.alone || a.row.seq - b.row.seq,
    );
    if (this.#phase !== 'open') return this.#proceed();
    this.#phase = 'beside';
    this.#stall?.cancel();
    this.#stall = null;
    this.#after(this.#deps.limits.besideMs, () => this.#close());
    this.#proceed();
  }

  get suspects(): number {
    return this.#held.length + (this.#newest === null ? 0 : 1);
  }

  /** Everything else is held up for suspects now. */
  get isTrying(): boolean {
    return (this.#phase === 'closing' || this.#phase === 'alone') && this.suspects > 0;
  }

  /** Whether that message is one of them. */
  has(row: InRow): boolean {
    return this.#newest?.row === row || this.#held.some((one) => one.row === row);
  }

  /** The message that runs alone, with its mark on the disk; null: none does. */
  get alone(): InRow | null {
    return this.#marked ? (this.#newest?.row ?? null) : null;
  }

  /** Whether everything else has to wait now. Asked when no suspect is left, it opens for good. */
  holdsOthers(): boolean {
    if (this.#phase === 'beside' || this.#phase === 'open') return false;
    if (this.#newest !== null || this.#first() !== undefined) return true;
    this.#phase = 'open';
    return false;
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#served = new Set(channels);
    this.#proceed();
  }

  /** The suspect that may run now, if it is of this channel. */
  async next(channel: ChannelKey): Promise<InRow | null> {
    const suspect = this.#first();
    if (this.#newest !== null || suspect?.row.queue.channel !== channel) return null;
    if (!this.#mayRun(suspect)) return null;
    this.#held.splice(this.#held.indexOf(suspect), 1);
    this.#newest = suspect;
    const { row } = suspect;
    if (!row.poison) {
      this.#marked = this.#phase === 'alone';
      if (this.#marked && !(await this.#mark(suspect, suspect.alone + 1))) return null;
      // Taken away while its mark was being written, or an operator has it now.
      if (row.gone) return null;
      if (row.queue.byHand) return this.#heldAgain(suspect);
      // The suspect has not run, and does not run any more.
      if (this.#closed) {
        if (this.#marked) void this.#mark(suspect, suspect.alone - 1);
        return null;
      }
      const { aloneMs, stallMs } = this.#deps.limits;
      this.#aside = this.#deadlines.after(aloneMs, () => this.#clear(suspect));
      if (this.#marked) this.#stall ??= this.#deadlines.after(stallMs, () => this.#open());
    }
    this.#deps.rows.takeHeld(row);
    return row;
  }

  /** The next suspect of a channel that is not served: to be buried there. */
  takeUnserved(channel: ChannelKey): InRow | null {
    if (this.#served === null || this.#served.has(channel)) return null;
    const at = this.#held.findIndex(
      ({ row: { queue } }) => queue.channel === channel && !queue.byHand,
    );
    if (at < 0) return null;
    const [suspect] = this.#held.splice(at, 1);
    this.#deps.rows.takeHeld(suspect!.row);
    return suspect!.row;
  }

  /** To be told of every message that is answered or buried. */
  ended(row: InRow): void {
    if (this.#newest?.row === row) this.#leave();
  }

  /** Messages were taken away, or what may run has changed; who is gone holds nothing up. */
  changed(): void {
    this.#held = this.#held.filter(({ row }) => !row.gone);
    if (this.#newest?.row.gone === true) this.#leave();
    else this.#proceed();
  }

  /** To be told of a message that is given back. @returns whether it is a suspect, held again */
  released(row: InRow): boolean {
    const suspect = this.#newest;
    if (suspect?.row !== row) return false;
    this.#deps.rows.holdAgain(row);
    this.#heldAgain(suspect);
    return true;
  }

  /** From now on no suspect is handed out. */
  close(): void {
    this.#closed = true;
    this.#turn?.cancel();
    this.#aside?.cancel();
    this.#stall?.cancel();
  }

  /** The condemned are only buried: they need not wait. */
  #mayRun({ row }: Suspect): boolean {
    return row.poison || this.#phase === 'alone' || this.#phase === 'open';
  }

  /** The others are held from now on, and those under way come to their end. */
  #close(): void {
    this.#phase = 'closing';
    const { steady, rows, limits } = this.#deps;
    const latestAt = later(steady(), limits.besideMs);
    const look = (): void => {
      if (rows.totals.claimed.in > 0 && steady() < latestAt) return this.#after(lookMs, look);
      this.#phase = 'alone';
      this.#proceed();
    };
    look();
  }

  #after(ms: number, act: () => void): void {
    if (ms <= 0) return act();
    this.#turn = this.#deadlines.after(ms, act);
  }

  /** Who is answered by hand does not run, and holds nothing up. */
  #first(): Suspect | undefined {
    const isServed = (key: ChannelKey): boolean => this.#served?.has(key) !== false;
    return this.#held.find(({ row: { queue } }) => !queue.byHand && isServed(queue.channel));
  }

  #mark(suspect: Suspect, alone: number): Promise<boolean> {
    suspect.alone = alone;
    return this.#deps.mark(suspect.row, alone);
  }

  /** It has not run. */
  #heldAgain(suspect: Suspect): null {
    if (this.#marked) void this.#mark(suspect, suspect.alone - 1);
    this.#held.unshift(suspect);
    this.#leave();
    return null;
  }

  #clear({ row }: Suspect): void {
    this.#deps.clear(row);
    this.#marked = false;
    this.#phase = 'open';
    this.#leave();
  }

  /** The others have waited long enough: the suspect that runs is not alone any more. */
  #open(): void {
    if (this.#phase === 'open') return;
    this.#phase = 'open';
    if (this.#newest !== null && this.#marked) {
      void this.#mark(this.#newest, this.#newest.alone - 1);
      this.#marked = false;
    }
    this.#proceed();
  }

  #leave(): void {
    this.#aside?.cancel();
    this.#aside = null;
    this.#newest = null;
    this.#marked = false;
    this.#proceed();
  }

  /** Tells whoever may claim now. */
  #proceed(): void {
    const { rows } = this.#deps;
    const first = this.#newest === null ? this.#first() : undefined;
    if (first !== undefined && this.#mayRun(first)) rows.ready.ring('in', first.row.queue.channel);
    if (!this.holdsOthers()) {
      this.#stall?.cancel();
      rows.ready.ringAll();
    }
  }
}
