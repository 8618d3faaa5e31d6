/**
 * The types that all builders of a batch share: a statement, the answers of the server, and the
 * result of a committed batch. Below are small functions for statements over sets of rows.
 */

/** A query with its parameters. */
export type Query = { readonly text: string; readonly values: readonly unknown[] };

/**
 * One statement of a batch. `again` is a query for the same answer: the writer runs it when the
 * batch is committed and its own answer was lost. Absent: nobody needs the answer.
 */
export type Statement = Query & { readonly again?: Query };

export type Rows = readonly Readonly<Record<string, unknown>>[];

/** The statements of one batch. `landed` reads their answers, in the order of the statements. */
export type Composed<Answer> = {
  readonly statements: readonly Statement[];
  readonly landed: (answers: readonly Rows[]) => Answer;
};

/** A queue that another write of the batch changes. `id`: the message of that write, if any. */
export type LockedQueue = {
  readonly id?: string;
  readonly channel: string;
  readonly conversation: string;
};

/** The first message with a deduplication key. */
export type First = { readonly id: string; readonly fingerprint: string | null };

/** A queue after a batch. `owner` null: the queue is free. `waits`: the column of that name. */
export type QueueFacts = {
  readonly owner: number | null;
  readonly epoch: number;
  readonly waits: number;
};

/** The result of a committed batch. */
export type Landed = {
  /** Queues of the accepted messages, by channel and stored conversation. */
  readonly queues: ReadonlyMap<string, QueueFacts>;
  /** Accepted messages: id → number in the queue. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Duplicates: id → the first message with the same key. */
  readonly known: ReadonlyMap<string, First>;
  /** Ids of messages and replies of which this batch stored the end, or the next try. */
  readonly done: ReadonlySet<string>;
};

/** A `Landed` under construction: each step adds its answer. */
export type Landing = {
  readonly queues: Map<string, QueueFacts>;
  readonly numbers: Map<string, number>;
  readonly known: Map<string, First>;
  readonly done: Set<string>;
};

/** A statement, and the function that reads its answer. */
export type Step = {
  readonly statement: Statement;
  readonly read?: (rows: Rows, landing: Landing) => void;
};

/** All rows of a set as one JSON parameter. */
export function asJson(rows: readonly unknown[]): string {
  return JSON.stringify(rows);
}

/** A query for the ids that are in a table. It restores the lost answer of a set. */
export function foundIn(table: string, ids: readonly string[]): Statement {
  return { text: `SELECT id FROM svc.${table} WHERE id = ANY($1)`, values: [ids] };
}

export function readDone(rows: Rows, { done }: Landing): void {
  for (const { id } of rows) done.add(id as string);
}

/** One statement can change a row only once, so only the last write of each row stays. */
export function lastOf<T>(writes: readonly T[], keyOf: (write: T) => string): readonly T[] {
  return [...new Map(writes.map((write) => [keyOf(write), write])).values()];
}

/** One step for each text, all with the same rows. Without rows there are no steps. */
export function stepsOf(writes: readonly unknown[], ...texts: readonly string[]): readonly Step[] {
  if (writes.length === 0) return [];
  const values = [asJson(writes)];
  return texts.map((text) => ({ statement: { text, values } }));
}
