/** What the journal gathers for one group. */
import { withoutRefused, type Gathered, type Waiter } from '../../engine/batching.ts';
import type { Reserving } from '../../spend.ts';
import { isPlain, type AnyWrite, type KnownMessage } from './statements.ts';

/** What the writer found out: place in the group → the first message with a key, a decision. */
export type Told = {
  readonly known: ReadonlyMap<number, KnownMessage>;
  readonly reservings: ReadonlyMap<number, Reserving>;
};
export type Written = (told: Told | null) => void;

export type WaitingCaller = Waiter<Told>;
export type WriteBatch = Gathered<AnyWrite, Told>;

/** Without the writes of refused callers, and without its last try to go on. */
export const withoutTries = (batch: WriteBatch) => withoutRefused(batch, isTry);

function isTry([write]: readonly AnyWrite[]): boolean {
  if (write === undefined || !isPlain(write)) return false;
  return write[0] === 'roomTaken' || write[0] === 'roomGiven';
}
