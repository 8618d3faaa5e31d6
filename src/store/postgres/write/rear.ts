import type { Rows } from './statement.ts';
import type { Behind } from './writer.ts';

/** What goes behind a flight, gathered when it is sent. */
export interface Rear {
  /** Whether something is to go. */
  readonly isWaiting: boolean;
  /** What goes with the next flight. */
  take(): Behind;
  /** Of what was taken. @param answers null: whether it has landed is not known */
  landed(answers: readonly Rows[] | null): void;
  /** Nothing goes any more. */
  end(): void;
}

export const noRear: Rear = {
  isWaiting: false,
  take: () => ({ asked: [], takes: false }),
  landed: () => {},
  end: () => {},
};
