/** What waits for a yes, and what became of it. */
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
import { fromText, fromTextOrNull } from '../server/text.ts';
import { num, placed, type Ask } from './ask.ts';

const columns =
  'SELECT id, code, state, channel, conversation, sender, message_id AS "messageId", brain, ' +
  `tool, private, ${num('asked_at', 'askedAt')}, ${num('expires_at', 'expiresAt')}, ` +
  `${num('decided_at', 'decidedAt')}, decided_by AS "decidedBy", ` +
  `${num('settled_at', 'settledAt')}, outcome, body FROM svc.approval`;
const behind = `${columns} WHERE id < $1 ORDER BY id DESC LIMIT $2`;
const behindOfState = `${columns} WHERE id < $1 AND state = $3 ORDER BY id DESC LIMIT $2`;
const byId = `${columns} WHERE id = $1`;
const byIdOrCode = `${columns} WHERE id = $1 OR code = $2 ORDER BY id DESC LIMIT 1`;
const waiting = `${columns} WHERE state = 'waiting' ORDER BY id LIMIT ${approvalsWaitingMax}`;
const isOwed = "settled_at IS NULL AND (state <> 'waiting' OR expires_at <= $1)";
const owed = `${columns} WHERE ${isOwed} ORDER BY id LIMIT ${approvalsOwedMax}`;

/** Before every row: it comes behind every digit of an id. */
const newest: [string] = ['~'];

export async function listApprovals(
  ask: Ask,
  state: ApprovalState | null,
  asked: PageAsked,
): Promise<Page<ApprovalRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, newest);
  if (after === null) return emptyPage;
  const rows = await (state === null
    ? ask<ApprovalRecord>(behind, after[0], limit + 1)
    : ask<ApprovalRecord>(behindOfState, after[0], limit + 1, state));
  const placeOf = ({ id }: ApprovalRecord): [string] => [id];
  return pageOf(rows, limit, placeOf, (row) => approvalRowOf(approvalOf(row)));
}

export async function showApproval(ask: Ask, id: string): Promise<ApprovalText | null> {
  const found = firstOf(await ask<ApprovalRecord>(byId, id));
  return found === null ? null : approvalTextOf(found);
}

/** By its id or its code. */
export async function findByIdOrCode(ask: Ask, idOrCode: string): Promise<Approval | null> {
  return firstOf(await ask<ApprovalRecord>(byIdOrCode, idOrCode, approvalCodeOf(idOrCode)));
}

/** Oldest first. */
export async function listWaiting(ask: Ask): Promise<readonly Approval[]> {
  return (await ask<ApprovalRecord>(waiting)).map(approvalOf);
}

/** As `isOwed` of the domain says; oldest first. */
export async function listOwed(ask: Ask, now: number): Promise<readonly Approval[]> {
  return (await ask<ApprovalRecord>(owed, Math.floor(now))).map(approvalOf);
}

function firstOf([row]: readonly ApprovalRecord[]): Approval | null {
  return row === undefined ? null : approvalOf(row);
}

function approvalOf(row: ApprovalRecord): Approval {
  return approvalFrom({
    ...placed(row),
    id: fromText(row.id),
    code: fromText(row.code),
    sender: fromText(row.sender),
    brain: fromText(row.brain),
    tool: fromText(row.tool),
    decidedBy: fromTextOrNull(row.decidedBy),
  });
}
