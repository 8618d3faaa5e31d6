/** How an approval ends: with the message whose turn follows, whatever becomes of that message. */
import type { Approval, ApprovalId } from '../../domain/approval.ts';
import type { Message } from '../../domain/message.ts';
import type { ConversationKey } from '../../domain/story.ts';
import type { ToolOutcome } from '../../domain/tool-use.ts';
import type { Effects, Ledger } from '../../ledger/ledger.ts';
import { openApprovals } from './request.ts';
import type { PipelineTurnContext } from '../turn-context.ts';

/** Whether that message is the turn that follows, and not a question elsewhere. */
export function isAskedIn(
  { channel, conversation }: Approval,
  message: Pick<Message, 'channel' | 'conversation'>,
): boolean {
  return message.channel === channel && message.conversation === conversation;
}

/** What became of the call, as the audit of the turn has it; null: it did not run. */
export function outcomeOf({
  followed,
  toolUses,
}: Pick<PipelineTurnContext, 'followed' | 'toolUses'>): ToolOutcome | null {
  if (followed?.approval.state !== 'approved') return null;
  return toolUses?.[0]?.outcome ?? null;
}

/**
 * What ends with this message, which is buried; undefined: nothing, or it cannot be read. Of a call
 * that was approved nobody knows whether it began.
 */
export async function settledBy(
  { approvals }: Pick<Ledger, 'approvals'>,
  message: Message,
): Promise<Effects['settled']> {
  if (message.approval === undefined) return undefined;
  const approval = await approvals.find(message.approval).catch(() => null);
  if (approval === null || !isAskedIn(approval, message)) return undefined;
  return { id: approval.id, outcome: approval.state === 'approved' ? 'unknown' : null };
}

/** Those that may end with a message of that conversation, which an operator answers. */
export async function openIn(
  ledger: Pick<Ledger, 'approvals'>,
  where: ConversationKey,
  now: number,
): Promise<ReadonlySet<ApprovalId>> {
  const open = (await openApprovals(ledger, now)) ?? [];
  return new Set(open.filter((one) => isAskedIn(one, where)).map(({ id }) => id));
}
