/** What is gathered for a flight, and what is known once it has landed. */
import type { Rows, Statement } from './statement.ts';

/**
 * A statement of its own, for what is rare. Those of a flight go before its sets, in the order in
 * which they were added.
 */
export type Single = Statement & {
  readonly kind: 'single';
  /** Called with its rows once the flight has landed, before those who wait for the flight. */
  readonly told?: (rows: Rows) => void;
};

/** Sets are added to this union: accepts, ends of turns, deliveries, calls of tools. */
export type Write = Single;

/** The message that came first with a key. */
export type First = { readonly id: string; readonly fingerprint: string | null };

export type Landed = {
  /** Messages that were accepted: id → their number in the lane. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Messages whose key had come before: id → the first one. */
  readonly known: ReadonlyMap<string, First>;
  /** Ids of messages and replies whose end, or whose next try, was written down. */
  readonly done: ReadonlySet<string>;
};
