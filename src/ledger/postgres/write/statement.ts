/** What a flight is made of, and what comes back of it. */
export type Asked = { readonly text: string; readonly values: readonly unknown[] };

/**
 * One statement of a flight. `again` asks for the same answer once the flight is known to have
 * landed and its own answer was lost; left out: nobody needs the answer.
 */
export type Statement = Asked & { readonly again?: Asked };

export type Rows = readonly Readonly<Record<string, unknown>>[];

/** The statements of one group, and what their answers say, in the order of the statements. */
export type Composed<Answer> = {
  readonly statements: readonly Statement[];
  readonly landed: (answers: readonly Rows[]) => Answer;
};

/** A lane that something else of the same flight changes; `id` of its message, if it has one. */
export type LockedQueue = {
  readonly id?: string;
  readonly channel: string;
  readonly conversation: string;
};

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

/** A statement changes a row once: of those for the same row the last one counts. */
export function lastOf<T>(writes: readonly T[], keyOf: (write: T) => string): readonly T[] {
  return [...new Map(writes.map((write) => [keyOf(write), write])).values()];
}

/** One step for each text, all with the same rows; none where there are no rows. */
export function stepsOf(writes: readonly unknown[], ...texts: readonly string[]): readonly Step[] {
  if (writes.length === 0) return [];
  const values = [asJson(writes)];
  return texts.map((text) => ({ statement: { text, values } }));
}
