/** What the journal gathers for one group. */
import { withoutRefused, type Gathered, type Waiter } from '../../ledger/gathering.ts';
import type { KeyedAccept, KnownMessage, Write } from './statements.ts';

/** Which keyed messages had come before: place in the group → the first one. */
export type Known = ReadonlyMap<number, KnownMessage>;
export type Written = (known: Known | null) => void;

export type WaitingCaller = Waiter<Known>;
export type WriteBatch = Gathered<Write | KeyedAccept, Known>;

/** Without the writes of refused callers, and without its last try for room. */
export const withoutTries = (batch: WriteBatch) => withoutRefused(batch, isTry);

function isTry([write]: readonly (Write | KeyedAccept)[]): boolean {
  return write !== undefined && !('key' in write) && write[0] === 'roomTaken';
}
