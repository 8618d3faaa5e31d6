/** What waits for a yes, and what became of it. */
import type { DatabaseSync } from 'node:sqlite';
import { approvalCodeOf, approvalRowOf, approvalTextOf } from '../../../domain/approval.ts';
import type {
  Approval,
  ApprovalRow,
  ApprovalState,
  ApprovalText,
} from '../../../domain/approval.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import { approvalFrom, approvalsOwedMax } from '../../engine/approval-record.ts';
import { approvalsWaitingMax, type ApprovalRecord } from '../../engine/approval-record.ts';
import { emptyPage, keyAfter, limitOf, pageOf } from '../../pages.ts';

const columns =
  'SELECT id, code, state, channel, conversation, sender, message_id AS messageId, brain, tool, ' +
  'private, asked_at AS askedAt, expires_at AS expiresAt, decided_at AS decidedAt, ' +
  'decided_by AS decidedBy, settled_at AS settledAt, outcome, body FROM approvals';

/** What `columns` gives; node:sqlite itself knows no more than values by name. */
type Row = Omit<ApprovalRecord, 'private'> & { readonly private: number };

/** Before every row: it comes behind every digit of an id. */
const newest: [string] = ['~'];

export function listApprovals(
  db: DatabaseSync,
  state: ApprovalState | null,
  asked: PageAsked,
): Page<ApprovalRow> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, newest);
  if (after === null) return emptyPage;
  const which = state === null ? '' : 'state = ? AND ';
  const values = state === null ? after : [state, ...after];
  const sql = `${columns} WHERE ${which}id < ? ORDER BY id DESC LIMIT ?`;
  const rows = db.prepare(sql).all(...values, limit + 1) as unknown as readonly Row[];
  const placeOf = ({ id }: Row): [string] => [id];
  return pageOf(rows, limit, placeOf, (row) => approvalRowOf(approvalOf(row)));
}

export function findApproval(db: DatabaseSync, id: string): Approval | null {
  return firstOf(db.prepare(`${columns} WHERE id = ?`).get(id));
}

export function showApproval(db: DatabaseSync, id: string): ApprovalText | null {
  const found = findApproval(db, id);
  return found === null ? null : approvalTextOf(found);
}

/** By its id or its code. */
export function findByIdOrCode(db: DatabaseSync, idOrCode: string): Approval | null {
  const sql = `${columns} WHERE id = ? OR code = ? ORDER BY id DESC LIMIT 1`;
  return firstOf(db.prepare(sql).get(idOrCode, approvalCodeOf(idOrCode)));
}

/** Oldest first. */
export function listWaiting(db: DatabaseSync): readonly Approval[] {
  const sql = `${columns} WHERE state = 'waiting' ORDER BY id LIMIT ${approvalsWaitingMax}`;
  return (db.prepare(sql).all() as unknown as readonly Row[]).map(approvalOf);
}

/** As `isOwed` says; oldest first. */
export function listOwed(db: DatabaseSync, now: number): readonly Approval[] {
  const owed = "settled_at IS NULL AND (state <> 'waiting' OR expires_at <= ?)";
  const sql = `${columns} WHERE ${owed} ORDER BY id LIMIT ${approvalsOwedMax}`;
  return (db.prepare(sql).all(now) as unknown as readonly Row[]).map(approvalOf);
}

function firstOf(found: Record<string, unknown> | undefined): Approval | null {
  return found === undefined ? null : approvalOf(found as unknown as Row);
}

function approvalOf(row: Row): Approval {
  return approvalFrom({ ...row, private: row.private === 1 });
}
