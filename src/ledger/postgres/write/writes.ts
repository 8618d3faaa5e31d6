/**
 * The writes that a batch may hold, and the sets of cursors and of the audit. Plain texts are in
 * their stored form already (server/text.ts); times are milliseconds since 1970.
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
