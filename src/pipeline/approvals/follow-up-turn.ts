/**
 * The turns of svc's own approval messages. In the conversation that asked, the approved call runs
 * and the model sees its result. In another conversation, the turn puts the question to a person
 * who may decide.
 */
import type { Brain, DecidedCall } from '../../brains/brain.ts';
import { roleOf, type Approval } from '../../domain/approval.ts';
import { registeredNameOf, type ApprovalId } from '../../domain/ids.ts';
import type { Ability } from '../../domain/tool-use.ts';
import { pause } from '../../lib/backoff.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import {
  followingSentences,
  describeFollowed,
  describeNoticeTo,
  describeQuestionTo,
  choicesOf,
} from './sentences.ts';
import { ownAnswer, type CommandAnswer } from '../commands.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { TurnEnd } from '../effects.ts';
import { askBrain } from '../turn-failure.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { isAskedIn } from './decide.ts';

/** The pause before svc gives back a message that it cannot continue with now. */
export const retryPauseMs = 1_000;
/** How long an approved call waits for a missing server of tools: the server may be starting. */
const serverWaitMs = 60_000;

/** @returns null: the turn cannot continue now, and the message must be given back */
export async function followUp(
  deps: Deps,
  { brain, brains }: ActiveRoute,
  { message, stop }: InClaim,
  id: ApprovalId,
  turnContext: PipelineTurnContext,
): Promise<TurnEnd | null> {
  let approval: Approval | null;
  try {
    approval = await deps.ledger.approvals.find(id);
  } catch {
    await pause(retryPauseMs, stop.signal);
    return null;
  }
  if (approval === null) return ownAnswer('approval', followingSentences.gone);
  if (!isAskedIn(approval, message)) return questionAnswer(approval, brains, deps.now());
  if (approval.settledAt !== null)
    return ownAnswer('approval', followingSentences.settled(approval));
  const { tool, state, decidedBy, decidedAt } = approval;
  if (state === 'waiting') return ownAnswer('approval', followingSentences.waits(approval));
  const ability = abilityOf(brain, approval);
  const isRecent = deps.now() - (decidedAt ?? 0) < serverWaitMs;
  if (state === 'approved' && ability?.isAvailable === false && isRecent) {
    await pause(retryPauseMs, stop.signal);
    return null;
  }
  const by = roleOf(decidedBy);
  turnContext.addStep({ kind: 'approval', tool, verdict: state, by });
  const followed = followedOf(approval);
  if (followed === null || ability === null) {
    turnContext.followed = { approval, said: '' };
    return ownAnswer('approval', followingSentences.changed(approval));
  }
  const rememberedText = describeFollowed(approval);
  turnContext.followed = { approval, said: rememberedText };
  return askBrain(
    deps,
    brain,
    { message, text: rememberedText, ...turnContext.historyFor(null), followed },
    turnContext,
  );
}

/**
 * Nothing is sent if the decision came before the question. A brain that no longer exists gets only
 * the notice.
 */
function questionAnswer(
  approval: Approval,
  brains: ActiveRoute['brains'],
  now: number,
): CommandAnswer {
  const isOver = approval.state !== 'waiting' || approval.expiresAt <= now;
  if (isOver) return ownAnswer('question', null);
  const text = brains.get(approval.brain)?.agent?.asking?.text ?? 'notice';
  // Nobody should press Approve under a text that does not show the call.
  if (text === 'notice') return ownAnswer('question', describeNoticeTo(approval));
  return ownAnswer('question', describeQuestionTo(approval), choicesOf([approval]));
}

function followedOf({
  state,
  decidedBy,
  tool,
  arguments: args,
  hash,
}: Approval): DecidedCall | null {
  const call = { tool, arguments: args, hash };
  switch (state) {
    case 'waiting':
      return null;
    case 'approved':
      return { ...call, verdict: state, by: roleOf(decidedBy) ?? 'operator' };
    case 'refused':
    case 'expired':
      return { ...call, verdict: state };
    default:
      return state satisfies never;
  }
}

/** Null: the route has another brain than the one that asked, or the brain lost the tool. */
function abilityOf({ name, agent }: Brain, { brain, tool, channel }: Approval): Ability | null {
  if (name !== brain) return null;
  const abilities = agent?.abilitiesOn(registeredNameOf(channel)) ?? [];
  return abilities.find((one) => one.tool === tool) ?? null;
}
