/**
 * svc's own messages of an approval. In the conversation that asked it is the turn that follows:
 * the call runs if it was approved, and the model is told what came of it. In another one it puts
 * the question to somebody who may decide.
 */
import { kindTypeOf } from '../channel/kinds.ts';
import type { Brain, Followed } from '../brain/brain.ts';
import { roleOf, type Approval, type ApprovalId } from '../domain/approval.ts';
import type { Stop } from '../lib/stop.ts';
import type { InClaim } from '../store/store.ts';
import { followingSentences as say, sayFollowed, sayQuestionTo } from './approval-sentences.ts';
import { choicesOf } from './approval-sentences.ts';
import { ownAnswer, type CommandAnswer } from './commands.ts';
import type { TurnDesk } from './desk.ts';
import type { TurnEnd } from './effects.ts';
import { think } from './faults.ts';
import type { ActiveRoute, Kit } from './kit.ts';
import { isAskedIn } from './settling.ts';

/** Before a message is given back whose approval cannot be read just now. */
const readAgainMs = 1_000;

/** @returns null: it cannot be read now, and the message is to be given back */
export async function follow(
  kit: Kit,
  { brain }: ActiveRoute,
  { message, memory, stop }: InClaim,
  id: ApprovalId,
  desk: TurnDesk,
): Promise<TurnEnd | null> {
  let approval: Approval | null;
  try {
    approval = await kit.ledger.approvals.find(id);
  } catch {
    await pause(readAgainMs, stop);
    return null;
  }
  if (approval === null) return ownAnswer('approval', say.gone);
  if (!isAskedIn(approval, message)) return question(approval, kit.now());
  if (approval.settledAt !== null) return ownAnswer('approval', say.settled(approval));
  const { tool, state, decidedBy } = approval;
  if (state === 'waiting') return ownAnswer('approval', say.waits(approval));
  const by = roleOf(decidedBy);
  desk.addStep({ kind: 'approval', tool, verdict: state, by });
  const followed = followedOf(approval);
  if (followed === null || !canGoOn(brain, approval)) {
    desk.followed = { approval, said: '' };
    return ownAnswer('approval', say.changed(approval));
  }
  const said = sayFollowed(approval);
  desk.followed = { approval, said };
  return think(kit, brain, { message, text: said, history: memory.turns, followed }, desk);
}

/** Nothing is said to who was not in time to be asked. */
function question(approval: Approval, now: number): CommandAnswer {
  const isOver = approval.state !== 'waiting' || approval.expiresAt <= now;
  if (isOver) return ownAnswer('question', null);
  return ownAnswer('question', sayQuestionTo(approval), choicesOf([approval]));
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

/** The brain of the route is still the one that asked, and has the tool. */
function canGoOn({ name, agent }: Brain, { brain, tool, channel }: Approval): boolean {
  const abilities = agent?.abilitiesOn(kindTypeOf(channel)) ?? [];
  return name === brain && abilities.some((one) => one.tool === tool);
}

async function pause(ms: number, stop: Stop): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  stop.listen(resolve);
  await promise;
  clearTimeout(timer);
  stop.unlisten(resolve);
}
