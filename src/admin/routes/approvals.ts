/** Calls of tools that wait for approval: the list, one with its texts, and the decision. */
import { approvalStates, roleOf } from '../../domain/approval.ts';
import type { AdminPorts, ApprovalPort } from '../admin.ts';
import { found, problem, answerWith, type Answer } from '../http/answer.ts';
import {
  approvalDecidedSchema,
  approvalsSchema,
  approvalTextSchema,
} from '../schemas/approvals.ts';
import { page, reason, segment, unread, readRoute, writeRoute, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'reader' | 'approvals'>;

const contentType = 'application/json';
const parameters = { id: segment('The id of the approval, as the list shows it.') };
const unknown = 'No approval has this id: it is not kept any more, or never was.';
const late = 'It does not wait any more: it was approved or refused, or its time was over.';
const unwritten = 'It cannot be written down now; the log says why. Nothing was changed.';

export function approvalRoutes(ports: Ports): Route[] {
  return [...reads(ports), ...words(ports.approvals)];
}

function reads({ reader }: Ports): Route[] {
  const state = {
    kind: 'word',
    summary: 'Only calls in this state. Without it: those that wait.',
    words: [...approvalStates, 'all'],
  } as const;
  return [
    readRoute({
      path: '/api/v1/approvals',
      principal: 'reader',
      summary: 'Tool calls that wait for approval, without arguments, newest first.',
      parameters: { state, ...page },
      contentType,
      problems: unread,
      schema: { name: 'Approvals', of: approvalsSchema },
      async answer({ state: asked, ...where }) {
        const of = asked === 'all' ? null : (asked ?? 'waiting');
        const { rows, next } = await reader.approvals(of, where);
        const withRoles = rows.map((row) => ({ ...row, decidedBy: roleOf(row.decidedBy) }));
        return answerWith(approvalsSchema, { rows: withRoles, next });
      },
    }),
    readRoute({
      path: '/api/v1/approvals/{id}',
      principal: 'operator',
      summary: 'One tool call that waits, or waited, for approval: arguments, sender, who decided.',
      reveals: 'read_approval',
      parameters,
      contentType,
      problems: { ...unread, 404: unknown },
      schema: { name: 'Approval', of: approvalTextSchema },
      answer: async ({ id }) => found(approvalTextSchema, await reader.approval(id), unknown),
    }),
  ];
}

function words(approvals: ApprovalPort): Route[] {
  const shared = {
    method: 'POST',
    parameters: { ...parameters, reason },
    contentType,
    problems: { 404: unknown, 409: late, 503: unwritten },
    schema: { name: 'ApprovalDecided', of: approvalDecidedSchema },
  } as const;
  return [
    writeRoute({
      ...shared,
      path: '/api/v1/approvals/{id}/approve',
      action: 'approve',
      summary: 'Approves the call. It runs once, as a turn of its own in its conversation.',
      answer: ({ id }) => decided(approvals, id, 'approved'),
    }),
    writeRoute({
      ...shared,
      path: '/api/v1/approvals/{id}/refuse',
      action: 'refuse',
      summary: 'Refuses the call. It does not run. The model learns of it and answers.',
      answer: ({ id }) => decided(approvals, id, 'refused'),
    }),
  ];
}

async function decided(
  approvals: ApprovalPort,
  id: string,
  verdict: 'approved' | 'refused',
): Promise<Answer> {
  const result = await approvals.decide(id, verdict);
  switch (result.kind) {
    case 'decided':
      return answerWith(approvalDecidedSchema, { result: verdict });
    // An operator may decide for every brain.
    case 'not_allowed':
    case 'too_long':
    case 'not_found':
      return problem(404, 'not_found', unknown);
    case 'not_waiting':
      return problem(409, 'not_waiting', `It is ${result.state} already.`);
    case 'storage_failed':
      return problem(503, result.kind, unwritten);
    default:
      return result satisfies never;
  }
}
