/** Calls that are to wait for a yes: what of them is written down, and who is asked. */
import type { AgentFacts } from '../../brains/brain.ts';
import type { Approval, ApprovalId, WantedCall } from '../../domain/approval.ts';
import { channelTypeOf, type ChannelKey } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { newApprovalCode } from './code.ts';

/** So many may be open in all. */
export const approvalsOpenMax = 1_000;

/** What is not settled yet, as far as it can be looked through; null: it cannot be read. */
export async function openApprovals(
  { approvals }: Pick<Ledger, 'approvals'>,
  now: number,
): Promise<readonly Approval[] | null> {
  try {
    const all = [...(await approvals.waiting()), ...(await approvals.owed(now))];
    return [...new Map(all.map((one) => [one.id, one])).values()];
  } catch {
    return null;
  }
}

type Asked = {
  readonly id: ApprovalId;
  readonly brain: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly waitMs: number;
};

/** @param message whose turn asks */
export function newApproval(
  { tool, arguments: given, hash }: WantedCall,
  { id: messageId, channel, conversation, address, sender, sensitivity }: Message,
  { id, brain, at, waitMs }: Asked,
): Approval {
  const where = { channel, conversation, address, sender, messageId };
  const undecided = { decidedAt: null, decidedBy: null, settledAt: null, outcome: null };
  return {
    id,
    code: newApprovalCode(),
    state: 'waiting',
    ...where,
    brain,
    tool,
    arguments: given,
    hash,
    sensitivity,
    askedAt: at,
    expiresAt: at + waitMs,
    ...undecided,
  };
}

/** Whether somebody beside the operator may decide, on that channel, and on others. */
export function approversOf(
  agent: AgentFacts | null,
  channel: ChannelKey,
): { readonly here: boolean; readonly elsewhere: boolean } {
  const approvers = agent?.asking?.approvers ?? [];
  const type = `${channelTypeOf(channel)}:`;
  const here = approvers.filter((name) => name.startsWith(type)).length;
  return { here: here > 0, elsewhere: here < approvers.length };
}
