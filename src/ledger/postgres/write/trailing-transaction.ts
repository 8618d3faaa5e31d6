import type { Rows } from './statement.ts';
import type { Behind } from './writer.ts';

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

export const noTrailing: TrailingTransaction = {
  withinMs: null,
  take: () => ({ asked: [], takes: false }),
  landed: () => {},
  end: () => {},
};
