/**
 * What is gathered for a flight, and what is known once it has landed. Plain texts are in their
 * stored form already (server/text.ts); times are milliseconds since 1970.
 */
import type { AcceptWrite, LockedQueue } from './accepts.ts';
import type { AuditWrite, BegunWrite, CursorWrite, EndedWrite } from './small-sets.ts';
import type { DeferredWrite, SentWrite } from './deliveries.ts';
import type { Rows, Statement } from './statement.ts';
import type { SpentWrite } from './spend.ts';
import type { TurnWrite } from './turns.ts';

/**
 * A statement of its own, for what is rare. Those of a flight go behind the messages that it
 * accepts and before its other sets, in the order in which they were added.
 */
export type Single = Statement & {
  readonly kind: 'single';
  /** Lanes that it changes: they are locked in one pass with all others of the flight. */
  readonly queues?: readonly LockedQueue[];
  /** Called with its rows once the flight has landed, before those who wait for the flight. */
  readonly told?: (rows: Rows) => void;
};

/** All but singles go in sets: one statement takes all rows of a kind. */
export type Write =
  | Single
  | AcceptWrite
  | TurnWrite
  | SentWrite
  | DeferredWrite
  | BegunWrite
  | EndedWrite
  | CursorWrite
  | AuditWrite
  | SpentWrite;

/** The message that came first with a key. */
export type First = { readonly id: string; readonly fingerprint: string | null };

/** A lane as a flight left it; `owner` null: it is free. `waits` as in the table. */
export type QueueFacts = {
  readonly owner: number | null;
  readonly epoch: number;
  readonly waits: number;
};

export type Landed = {
  /** Lanes of messages that were accepted, by channel and stored conversation. */
  readonly queues: ReadonlyMap<string, QueueFacts>;
  /** Messages that were accepted: id → their number in the lane. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Messages whose key had come before: id → the first one. */
  readonly known: ReadonlyMap<string, First>;
  /** Ids of messages and replies whose end, or whose next try, was written down. */
  readonly done: ReadonlySet<string>;
};

/** What a flight's answers fill. */
export type Landing = {
  readonly queues: Map<string, QueueFacts>;
  readonly numbers: Map<string, number>;
  readonly known: Map<string, First>;
  readonly done: Set<string>;
};

/** A statement, and what its answer says. */
export type Step = {
  readonly statement: Statement;
  readonly read?: (rows: Rows, landing: Landing) => void;
};

/** The rows of a set as one parameter. */
export function asJson(rows: readonly unknown[]): string {
  return JSON.stringify(rows);
}

/** Asks which of these are in a table: the answer of a set that was lost. */
export function foundIn(table: string, ids: readonly string[]): Statement {
  return { text: `SELECT id FROM svc.${table} WHERE id = ANY($1)`, values: [ids] };
}

export function readDone(rows: Rows, { done }: Landing): void {
  for (const { id } of rows) done.add(id as string);
}
