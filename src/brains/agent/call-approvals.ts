/** Calls that a person is asked about first, and what becomes of them in the turn that follows. */
import { isMessengerType } from '../../channels/registry.ts';
import type { AgentConfig } from '../../config/config.ts';
import type { Verdict } from '../../domain/approval.ts';
import type { ToolCall } from '../../domain/outcome.ts';
import type { Asking, Followed } from '../brain.ts';

/** What the model is told of a call that does not run. */
export const notRun: Readonly<Record<Exclude<Verdict, 'approved'>, string>> = {
  refused: 'The call was not run: who may decide said no. Do not ask for it again by yourself.',
  expired: 'The call was not run: nobody decided in time.',
};

/** @throws where the arguments are no JSON, which svc wrote itself */
export function callOf({ tool, arguments: text }: Followed): ToolCall {
  return { id: '', name: tool, arguments: JSON.parse(text) as unknown };
}

/** Null: no call of that agent is ever put to anybody. */
export function askingOf(config: AgentConfig): Asking | null {
  const { governance, approvers, approvalMs: waitMs, approvalText: text } = config;
  const asks = governance.some(({ mode }) => mode === 'ask');
  if (!asks && approvers.length === 0) return null;
  // Elsewhere whoever has the channel's secret may say that they are anybody.
  const known = approvers.filter(({ channel }) => isMessengerType(channel));
  return { approvers: known.map(({ name }) => name), waitMs, text };
}
