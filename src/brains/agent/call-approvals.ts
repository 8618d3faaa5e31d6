/** Calls that wait for an approval, and how the follow-up turn continues with them. */
import type { AgentConfig } from '../../config/config.ts';
import type { Verdict } from '../../domain/approval.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import type { ApprovalRules, DecidedCall } from '../brain.ts';

/** The result that the model gets for a call that does not run. */
export const notRun: Readonly<Record<Exclude<Verdict, 'approved'>, string>> = {
  refused: 'The call was not run: who may decide said no. Do not ask for it again by yourself.',
  expired: 'The call was not run: nobody decided in time.',
};

/** @throws if the arguments are no JSON; svc wrote them itself */
export function callOf({ tool, arguments: text }: DecidedCall): ToolCall {
  return { id: '', name: tool, arguments: JSON.parse(text) as unknown };
}

/** @returns null if no call of that agent waits for an approval */
export function approvalRulesOf(config: AgentConfig): ApprovalRules | null {
  const { governance, approvers, approvalMs: waitMs, approvalText: text } = config;
  const asks = governance.some(({ mode }) => mode === 'ask');
  if (!asks && approvers.length === 0) return null;
  return { approvers: approvers.map(({ name }) => name), waitMs, text };
}
