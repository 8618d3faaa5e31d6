/** Rows for the outcome of a reply, for tool calls, and for the audit of administrators. */
import type { AuditRow } from '../../../domain/audit.ts';
import type { Message } from '../../../domain/message.ts';
import type { BegunCall } from '../../../domain/tool-use.ts';
import type { DeferredUntil, FailedDelivery } from '../../engine/storage.ts';
import type { OutRow } from '../../engine/queue.ts';
import { toText } from '../server/text.ts';
import type { DeferredWrite, SentWrite } from './turns.ts';
import { useRow } from './row-codec.ts';
import type { BegunWrite } from './tool-calls.ts';
import type { AuditWrite } from './writes.ts';

export function deferredWrite(end: FailedDelivery & DeferredUntil): DeferredWrite {
  const { row, why, dueAt, how } = end;
  const parked = how.park || row.parked;
  return {
    kind: 'deferred',
    id: row.head.id,
    attempts: row.attempt,
    dueAt: Math.round(dueAt),
    late: row.late || parked,
    parked,
    possibleDuplicate: how.possibleDuplicate,
    uncounted: how.uncounted === true ? 1 : 0,
    failure: JSON.stringify(why),
    tried: triedText(end),
  };
}

export function sentWrite({ head: { id }, takenAt }: OutRow, at: number): SentWrite {
  const done = { failure: null, attempts: null, tried: null };
  return { kind: 'sent', id, at, tookMs: at - takenAt, ...done };
}

/** @param parts the later parts of the same reply: they become dead letters without a try */
export function diedWrites(end: FailedDelivery, parts: readonly OutRow[]): readonly SentWrite[] {
  const { row, at, why } = end;
  const died = { kind: 'sent', at, tookMs: null, failure: JSON.stringify(why) } as const;
  return [
    { ...died, id: row.head.id, attempts: row.attempt, tried: triedText(end) },
    ...parts.map(({ head }) => ({ ...died, id: head.id, attempts: null, tried: null })),
  ];
}

export function begunWrite(
  { id: messageId, channel, conversation }: Message,
  call: BegunCall,
): BegunWrite {
  return {
    kind: 'begun',
    ...useRow({ ...call, ms: 0, outcome: 'unknown', told: null }),
    messageId,
    channel,
    conversation: toText(conversation),
    hash: call.hash,
    private: call.sensitivity === 'private',
  };
}

export function auditWrite({ at, action, target, status, reason }: AuditRow): AuditWrite {
  const storedReason = reason === null ? null : toText(reason);
  const row = { at, action: toText(action), target: JSON.stringify(target), status };
  return { kind: 'audit', ...row, reason: storedReason };
}

function triedText({ row, at, why }: FailedDelivery): string {
  return JSON.stringify([row.takenAt, at - row.takenAt, why.kind, why.status]);
}
