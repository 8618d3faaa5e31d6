/** What happens to a message that meets a bug of ours: the bug ends its turn and nothing else. */
import type { Brain, TurnContext, Turn } from '../brains/brain.ts';
import type { Decision } from '../domain/decision.ts';
import { failure } from '../domain/failure.ts';
import { strictest } from '../domain/sensitivity.ts';
import type { Claim, Effects } from '../ledger/ledger.ts';
import { commandsOn } from './commands.ts';
import { emptyContext, effectsOf, effectsOfUnanswered } from './effects.ts';
import type { ActiveChannel, Deps } from './deps.ts';
import { activeRouteOf, routeOfRepeated } from './route.ts';
import { earlierPreview } from './previews.ts';
import { decideSession, repeatedTurnOf } from './sessions.ts';
import { settlementOf } from './approvals/decide.ts';

const faultDecision = {
  kind: 'apology',
  apology: 'fault',
  why: 'it failed by a fault of ours',
} as const;

/**
 * Asks the brain. A brain does not throw; if one does, it is a bug, and the person still gets a
 * sentence.
 */
export async function askBrain(
  deps: Deps,
  brain: Brain,
  turn: Turn,
  turnContext: TurnContext,
): Promise<Decision> {
  try {
    return await brain.think(turn, turnContext);
  } catch (error) {
    deps.events.faulted({ where: `brain ${brain.name}`, error });
    return faultDecision;
  }
}

/**
 * Dead-letters a claim that is not retried: its handling threw, or it ended the process several
 * times. The same commit holds the sentence for the message's sender.
 */
export async function deadLetterMessage(
  deps: Deps,
  channel: ActiveChannel,
  claim: Claim,
  kind: 'fault' | 'poison' = 'fault',
): Promise<void> {
  const why = failure(kind);
  const now = deps.now();
  const { id, address } = claim.box === 'in' ? claim.message : claim.reply;
  const event = { box: claim.box, channel: address.channel, id, failure: why };
  if (claim.box === 'out') {
    if (await deps.ledger.deadLetter(claim, why)) deps.events.buried(event);
    return;
  }
  if (channel.channel.openRequest !== undefined) {
    const request = channel.channel.openRequest(claim.message);
    const gone = { kind: 'abandoned', why: faultDecision.why } as const;
    request?.end({ kind: 'decided', decision: faultDecision, usage: null });
    const effects = effectsOfUnanswered(deps, channel, claim, request ? faultDecision : gone);
    if (await deps.ledger.deadLetter(claim, why, effects)) deps.events.buried(event);
    else request?.fail('deleted');
    return;
  }
  const { message, memory } = claim;
  const taken = activeRouteOf(channel, message);
  const decision = decideSession(message, memory, commandsOn(deps, taken, message));
  const repeated = repeatedTurnOf(decision);
  const own = repeated && (await routeOfRepeated(deps.ledger, taken, claim, repeated));
  const route = own ?? taken;
  const sensitivity = strictest((repeated ?? message).sensitivity, route.brain.sensitivity);
  const shownAs = deps.ledger.previews.of(claim) ?? earlierPreview(route.channel, claim);
  const turnContext = { ...emptyContext(sensitivity), shownAs };
  const timeline = { decision, claimedAt: now, decidedAt: now, turnContext };
  const effects = effectsOf(deps, route, claim, faultDecision, timeline);
  // Later turns do not see a message that ends the process: it would end the process there, too.
  const safeEffects = kind === 'poison' ? withoutRepeat(effects) : effects;
  // Without this the approval would stay open for ever, and a replay could run the call again.
  const settled = await settlementOf(deps.ledger, claim.message);
  const finalEffects = settled === undefined ? safeEffects : { ...safeEffects, settled };
  if (await deps.ledger.deadLetter(claim, why, finalEffects)) deps.events.buried(event);
}

/** The effects without the turn, and without a button that asks it again. */
function withoutRepeat({ replies, ...effects }: Effects): Effects {
  const withoutButtons = replies.map((reply) => {
    const { choices, ...rest } = reply;
    return choices === undefined ? reply : rest;
  });
  return { ...effects, turn: null, leftOut: [], replies: withoutButtons };
}
