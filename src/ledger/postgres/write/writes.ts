/**
 * What is gathered for a flight, and what is known once it has landed. Plain texts are in their
 * stored form already (server/text.ts); times are milliseconds since 1970.
 */
import type { AcceptWrite, LockedQueue } from './accepts.ts';
import type { DeferredWrite, SentWrite, SpentWrite, TurnWrite } from './turns.ts';
import type { Rows, Statement } from './statement.ts';

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

/** Sets of small rows: calls of tools, cursors, the audit. */
export type ToolUseRow = {
  readonly key: string;
  readonly at: number;
  readonly ms: number;
  readonly tool: string;
  readonly mode: string;
  readonly rule: string;
  readonly outcome: string;
  readonly arguments: string;
  readonly told: string | null;
};

/** A call that is to run: it is in the audit from now on, with an unknown end. */
export type BegunWrite = ToolUseRow & {
  readonly kind: 'begun';
  readonly messageId: string;
  readonly channel: string;
  readonly conversation: string;
  readonly hash: string;
  readonly private: boolean;
};

export type EndedWrite = {
  readonly kind: 'ended';
  readonly key: string;
  readonly text: string;
  readonly outcome: string;
  readonly ms: number;
};

export type CursorWrite = {
  readonly kind: 'cursor';
  readonly channel: string;
  readonly name: string;
  readonly value: string;
};

export type AuditWrite = {
  readonly kind: 'audit';
  readonly at: number;
  readonly action: string;
  /** JSON. */
  readonly target: string;
  readonly status: number;
  readonly reason: string | null;
};

export const useColumns =
  'key, message_id, channel, conversation, at, ms, tool, mode, rule, outcome, arguments, told';

/**
 * What was begun is there already. It happened when it began, and an end that is known is not
 * unlearnt.
 */
export const onKnownUse = `
ON CONFLICT (key) DO UPDATE SET ms = greatest(was.ms, excluded.ms), tool = excluded.tool,
  mode = excluded.mode, rule = excluded.rule, arguments = excluded.arguments,
  told = coalesce(excluded.told, was.told),
  outcome = CASE WHEN excluded.outcome = 'unknown' THEN was.outcome ELSE excluded.outcome END`;

const begin = `
INSERT INTO svc.tool_call (key, message_id, tool, hash, private)
SELECT * FROM json_to_recordset($1) AS x(key text, "messageId" text, tool text, hash text,
  private boolean)
ON CONFLICT (key) DO NOTHING`;

const beginUse = `
INSERT INTO svc.tool_use AS was (${useColumns})
SELECT * FROM json_to_recordset($1) AS x(key text, "messageId" text, channel text,
  conversation text, at bigint, ms double precision, tool text, mode text, rule text, outcome text,
  arguments text, told text)${onKnownUse}`;

const end = `
UPDATE svc.tool_call AS was SET text = x.text, outcome = x.outcome, ms = x.ms
FROM json_to_recordset($1) AS x(key text COLLATE "C", text text, outcome text, ms double precision)
WHERE was.key = x.key`;

const endUse = `
UPDATE svc.tool_use AS was SET outcome = x.outcome, ms = x.ms
FROM json_to_recordset($1) AS x(key text COLLATE "C", outcome text, ms double precision)
WHERE was.key = x.key AND was.outcome = 'unknown'`;

const move = `
INSERT INTO svc.cursor (channel, name, value)
SELECT * FROM json_to_recordset($1) AS x(channel text, name text, value text)
ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value`;

const note = `
INSERT INTO svc.audit (at, action, target, status, reason)
SELECT * FROM json_to_recordset($1) AS x(at bigint, action text, target text, status integer,
  reason text)`;

export function begunSteps(writes: readonly BegunWrite[]): readonly Step[] {
  return stepsOf(
    lastOf(writes, ({ key }) => key),
    begin,
    beginUse,
  );
}

export function endedSteps(writes: readonly EndedWrite[]): readonly Step[] {
  return stepsOf(
    lastOf(writes, ({ key }) => key),
    end,
    endUse,
  );
}

export function cursorSteps(writes: readonly CursorWrite[]): readonly Step[] {
  return stepsOf(
    lastOf(writes, ({ channel, name }) => `${channel} ${name}`),
    move,
  );
}

export function auditSteps(writes: readonly AuditWrite[]): readonly Step[] {
  return stepsOf(writes, note);
}

/** A statement changes a row once: of those for the same row the last one counts. */
export function lastOf<T>(writes: readonly T[], keyOf: (write: T) => string): readonly T[] {
  return [...new Map(writes.map((write) => [keyOf(write), write])).values()];
}

function stepsOf(writes: readonly unknown[], ...texts: readonly string[]): readonly Step[] {
  if (writes.length === 0) return [];
  const values = [asJson(writes)];
  return texts.map((text) => ({ statement: { text, values } }));
}
