/** `/approve` and `/refuse`: who wrote it is looked up at this moment, in the plan in use. */
import type { Brain } from '../../brains/brain.ts';
import { personOn } from '../../domain/approval.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { decisionSentences as say } from './sentences.ts';
import { approversOf } from './request.ts';
import { decideApproval, type DecideResult } from './decide.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import type { Intent } from '../sessions.ts';

type Brains = ReadonlyMap<string, Pick<Brain, 'agent'>>;
type Verb = 'approve' | 'refuse';

/** Who wrote the message, as `agent.approvers` names people. */
function nameOf({ channel, sender }: Pick<Message, 'channel' | 'sender'>): string {
  return personOn(channel, sender.id);
}

/** Whether who wrote it may decide for any brain; it costs nothing where nobody may. */
export function isApprover(brains: Brains, message: Pick<Message, 'channel' | 'sender'>): boolean {
  let name: string | null = null;
  for (const { agent } of brains.values()) {
    const approvers = agent?.asking?.approvers;
    if (approvers === undefined || approvers.length === 0) continue;
    name ??= nameOf(message);
    if (approvers.includes(name)) return true;
  }
  return false;
}

/** Whether somebody on that channel may decide for any brain. */
export function hasApprover(brains: Brains, channel: ChannelKey): boolean {
  return [...brains.values()].some(({ agent }) => approversOf(agent, channel).here);
}

/** @returns what the person is told */
export async function decide(
  deps: Deps,
  { brains }: ActiveRoute,
  message: Message,
  { kind: verb, code }: Extract<Intent, { kind: Verb }>,
): Promise<string> {
  if (code === '') return say.usage(verb);
  const name = nameOf(message);
  if (deps.approvals.isShutOut(name)) return say.nothingForYou;
  const isApproverOf = (brain: string): boolean => decidesFor(brains.get(brain), name);
  const verdict = verb === 'approve' ? 'approved' : 'refused';
  const result = await decideApproval(deps, code, verdict, { name, isApproverOf });
  if (result.kind === 'not_found' || result.kind === 'not_allowed') deps.approvals.wrongCode(name);
  return sentenceOf(result);
}

function sentenceOf(result: DecideResult): string {
  switch (result.kind) {
    case 'decided': {
      const { state, tool } = result.approval;
      return state === 'refused' ? say.refused(tool) : say.approved(tool);
    }
    case 'not_waiting':
      return say.over(result.state);
    case 'too_long':
      return say.tooLong(result.tool);
    case 'not_found':
    case 'not_allowed':
      return say.nothingForYou;
    case 'storage_failed':
      return say.failed;
    default:
      return result satisfies never;
  }
}

function decidesFor(brain: Pick<Brain, 'agent'> | undefined, name: string): boolean {
  return brain?.agent?.asking?.approvers.includes(name) === true;
}
