/**
 * Restores the rows that a start finds. It decides where they stand in the working set, which
 * message was under way when the process died, and which reply may have been sent. The storage
 * supplies the rows, and writes the resulting changes.
 */
import { plannedTry } from './durability.ts';
import { aloneMax, chooseSuspects, type Suspect } from './crash-isolation.ts';
import {
  attemptsMax,
  type InRow,
  type MessageProgress,
  type OutRow,
  type OutState,
  type StoredMessage,
  type StoredReply,
} from './queue.ts';
import type { WorkingSet } from './working-set.ts';
import type { LedgerNews } from '../ledger.ts';

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

export type LastEnd = {
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
  readonly blamed: readonly InRow[];
  /** Messages whose attempts are reset, since the process ended cleanly. */
  readonly cleared: readonly InRow[];
  /** Messages with a corrected number of runs alone. */
  readonly marked: readonly { readonly row: InRow; readonly alone: number }[];
  /**
   * Replies that were under way and may have been sent. Each gets one attempt more, which does not
   * move it along its schedule.
   */
  readonly died: readonly OutRow[];
  readonly sooner: readonly SoonerReply[];
  readonly suspects: readonly Suspect[];
};

export class Recovering {
  readonly #rows: WorkingSet;
  readonly #end: LastEnd;
  readonly #now: number;
  readonly #progressOf = new Map<string, MessageProgress>();
  readonly #blamed: InRow[] = [];
  readonly #cleared: InRow[] = [];
  readonly #marked: { readonly row: InRow; readonly alone: number }[] = [];
  readonly #died: OutRow[] = [];
  readonly #sooner: SoonerReply[] = [];
  readonly #suspected: Suspect[] = [];

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
    if (alone < counts.alone) this.#marked.push({ row, alone });
    const poison = alone >= aloneMax;
    const cleared = !unclean && !poison;
    const attempts = cleared ? 0 : counts.attempts + (blamed ? 1 : 0);
    if (blamed) this.#blamed.push(row);
    if (cleared && counts.attempts > 0) this.#cleared.push(row);
    const suspect = poison || (head && attempts >= attemptsMax);
    row.attempt = attempts + 1;
    row.poison = poison;
    if (suspect) {
      row.queue.inBusy = true;
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
    if (dueAt !== null && aheadMs > 0) this.#sooner.push({ row, dueAt, aheadMs });
    // By a clock that was ahead it may have been due, and may have been sent.
    const wasDue = aheadMs > 0 || (dueAt ?? 0) <= this.#now;
    const isHead = row.parked || row.queue.outbox.peek() === row;
    if (!this.#end.unclean || !wasDue || !isHead) return;
    this.#died.push(row);
    row.attempt++;
    // The receiver is not to blame for a crash loop, so it moves no reply along its schedule.
    row.replayedAfter++;
    row.possibleDuplicate = true;
  }

  /** Call when all rows are restored. */
  done(): Recovered {
    const suspects = chooseSuspects(this.#suspected);
    this.#rows.restoring(false);
    return {
      blamed: this.#blamed,
      cleared: this.#cleared,
      marked: this.#marked,
      died: this.#died,
      sooner: this.#sooner,
      suspects,
    };
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
