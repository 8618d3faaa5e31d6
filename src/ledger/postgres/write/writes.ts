/**
 * The writes that a batch may hold, and the steps for cursors and for the audit. All texts are
 * already in their stored form (server/text.ts). Times are milliseconds since 1970.
 */
import type { AcceptWrite } from './accepts.ts';
import {
  lastOf,
  stepsOf,
  type LockedQueue,
  type Rows,
  type Statement,
  type Step,
} from './statement.ts';
import type { BegunWrite, EndedWrite } from './tool-calls.ts';
import type { DeferredWrite, SentWrite, SpentWrite, TurnWrite } from './turns.ts';

/**
 * A statement of its own, for rare writes. In a batch the singles come after the accepted messages
 * and before all other sets, in the order in which callers added them.
 */
export type Single = Statement & {
  readonly kind: 'single';
  /** Queues that the statement changes. The batch locks all its queues in one pass. */
  readonly queues?: readonly LockedQueue[];
  /** Called with the rows of the answer after the commit, before the waiters of the batch. */
  readonly told?: (rows: Rows) => void;
};

/** All kinds but `single` form sets: one statement writes all rows of a kind. */
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
  /** As JSON. */
  readonly target: string;
  readonly status: number;
  readonly reason: string | null;
};

const move = `
INSERT INTO svc.cursor (channel, name, value)
SELECT * FROM json_to_recordset($1) AS x(channel text, name text, value text)
ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value`;

const note = `
INSERT INTO svc.audit (at, action, target, status, reason)
SELECT * FROM json_to_recordset($1) AS x(at bigint, action text, target text, status integer,
  reason text)`;

export function cursorSteps(writes: readonly CursorWrite[]): readonly Step[] {
  return stepsOf(
    lastOf(writes, ({ channel, name }) => `${channel} ${name}`),
    move,
  );
}

export function auditSteps(writes: readonly AuditWrite[]): readonly Step[] {
  return stepsOf(writes, note);
}
