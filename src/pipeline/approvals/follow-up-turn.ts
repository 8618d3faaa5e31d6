/**
 * svc's own messages of an approval. In the conversation that asked it is the turn that follows:
 * the call runs if it was approved, and the model is told what came of it. In another one it puts
 * the question to somebody who may decide.
 */
import { kindTypeOf } from '../../channels/registry.ts';
import type { Brain, Followed } from '../../brains/brain.ts';
import { roleOf, type Approval, type ApprovalId } from '../../domain/approval.ts';
import type { Ability } from '../../domain/tool-use.ts';
import { pause } from '../../lib/backoff.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import { followingSentences as say, describeFollowed } from './sentences.ts';
import { describeNoticeTo, describeQuestionTo } from './sentences.ts';
import { choicesOf } from './sentences.ts';
import { ownAnswer, type CommandAnswer } from '../commands.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { TurnEnd } from '../effects.ts';
import { think } from '../turn-failure.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { isAskedIn } from './decide.ts';

/** Before a message is given back that cannot be gone on with just now. */
const againMs = 1_000;
/** How long a yes waits for a server of tools that is not there: it may be starting. */
const awaitedMs = 60_000;

/** @returns null: it cannot be gone on with now, and the message is to be given back */
export async function follow(
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
    await pause(againMs, stop.signal);
    return null;
  }
  if (approval === null) return ownAnswer('approval', say.gone);
  if (!isAskedIn(approval, message)) return question(approval, brains, deps.now());
  if (approval.settledAt !== null) return ownAnswer('approval', say.settled(approval));
  const { tool, state, decidedBy, decidedAt } = approval;
  if (state === 'waiting') return ownAnswer('approval', say.waits(approval));
  const ability = abilityOf(brain, approval);
  const isYoung = deps.now() - (decidedAt ?? 0) < awaitedMs;
  if (state === 'approved' && ability?.isAvailable === false && isYoung) {
    await pause(againMs, stop.signal);
    return null;
  }
  const by = roleOf(decidedBy);
  turnContext.addStep({ kind: 'approval', tool, verdict: state, by });
  const followed = followedOf(approval);
  if (followed === null || ability === null) {
    turnContext.followed = { approval, said: '' };
    return ownAnswer('approval', say.changed(approval));
  }
  const said = describeFollowed(approval);
  turnContext.followed = { approval, said };
  return think(
    deps,
    brain,
    { message, text: said, ...turnContext.shownOf(null), followed },
    turnContext,
  );
}

/** Nothing is said to who was not in time to be asked. Of an unknown brain the words stay here. */
function question(approval: Approval, brains: ActiveRoute['brains'], now: number): CommandAnswer {
  const isOver = approval.state !== 'waiting' || approval.expiresAt <= now;
  if (isOver) return ownAnswer('question', null);
  const text = brains.get(approval.brain)?.agent?.asking?.text ?? 'notice';
  // Nobody presses Approve under words that they did not see.
  if (text === 'notice') return ownAnswer('question', describeNoticeTo(approval));
  return ownAnswer('question', describeQuestionTo(approval), choicesOf([approval]));
}

function followedOf({ state, decidedBy, tool, arguments: given, hash }: Approval): Followed | null {
  const call = { tool, arguments: given, hash };
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

/** Null: the brain of the route is not the one that asked, or has the tool no more. */
function abilityOf({ name, agent }: Brain, { brain, tool, channel }: Approval): Ability | null {
  if (name !== brain) return null;
  const abilities = agent?.abilitiesOn(kindTypeOf(channel)) ?? [];
  return abilities.find((one) => one.tool === tool) ?? null;
}
