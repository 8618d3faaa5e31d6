/** A turn that an operator answers: it changes what any turn does, and no model is asked. */
import type { ApprovalId } from '../../domain/approval.ts';
import { strictest } from '../../domain/sensitivity.ts';
import type { ConversationKey } from '../../domain/story.ts';
import type { MessageId } from '../../domain/ids.ts';
import type { HandAnswer } from '../../domain/takeover.ts';
import type { ByHandMessage, Effects } from '../../ledger/ledger.ts';
import { commandsOn } from '../commands.ts';
import { bareDesk, effectsOf } from '../effects.ts';
import type { ActiveRoute, Kit } from '../deps.ts';
import { decideSession, traceSession } from '../sessions.ts';
import { openIn } from '../approvals/settle.ts';

export type HandWritten = {
  readonly text: string;
  /** The last of the messages that it answers; null: the oldest that waits. */
  readonly upTo: string | null;
};

/** `not_served`: its channel is not in the configuration in use. */
export type ByHandResult = HandAnswer | { readonly kind: 'not_served' };

/**
 * The reply goes out as any other; the messages before the named one have none of their own.
 * @param route undefined: the conversation's channel is not served
 */
export async function answerByHand(
  kit: Kit,
  route: ActiveRoute | undefined,
  where: ConversationKey,
  { text, upTo }: HandWritten,
): Promise<ByHandResult> {
  if (route === undefined) return { kind: 'not_served' };
  const ended: ByHandMessage[] = [];
  const open = await openIn(kit.ledger, where, kit.now());
  const answered = await kit.ledger.byHand.answer(where, upTo, (one, isLast) => {
    ended.push(one);
    const shown = ended.findLast(({ message }) => message.preview !== undefined);
    const effects = isLast
      ? lastEffects(kit, route, one, text, shown?.message.preview)
      : passedOver(kit, route, one, upTo);
    return asOwn(one, open, effects);
  });
  if (answered.kind !== 'answered') return answered;
  for (const { message } of ended) {
    const { channel, id, acceptedAt } = message;
    const ms = Math.max(0, kit.now() - acceptedAt);
    kit.events.answeredByHand({ channel, id, brain: route.brain.name, ms });
  }
  return answered;
}

/**
 * It is remembered as it was said: what was a command is answered by a person this time.
 * @param shownAs what shows the beginning of a reply to one of the messages; absent: nothing
 */
function lastEffects(
  kit: Kit,
  route: ActiveRoute,
  one: ByHandMessage,
  text: string,
  shownAs: string | null = null,
): Effects {
  const { message, memory, condemned } = one;
  const now = kit.now();
  const { move } = decideSession(message, memory, commandsOn(kit, route, message));
  const decision = { move, act: { kind: 'think', text: message.text } } as const;
  const seen = move === null ? memory.turns : [];
  // An operator has the conversation before them: what they write may hold what was private in it.
  const stamps = seen.map(({ sensitivity }) => sensitivity);
  const desk = bareDesk(strictest(message.sensitivity, route.brain.sensitivity, ...stamps), [
    ...(route.session === null ? [] : [traceSession(memory, decision)]),
    { kind: 'operator', answeredWith: null },
  ]);
  const timeline = { decision, claimedAt: now, decidedAt: now, desk: { ...desk, shownAs } };
  const effects = effectsOf(kit, route, one, { kind: 'by_hand', text }, timeline);
  // A message that ends the process is kept from later turns: it would end the process there, too.
  return condemned ? { ...effects, turn: null } : effects;
}

/** Where svc's own message is answered, nobody said anything, and no call runs after it. */
function asOwn(
  { message: { approval, welcome } }: ByHandMessage,
  open: ReadonlySet<ApprovalId>,
  effects: Effects,
): Effects {
  if (approval === undefined && welcome !== true) return effects;
  const isSettled = approval !== undefined && open.has(approval);
  const settled = isSettled ? { settled: { id: approval, outcome: null } } : null;
  const { turn } = effects;
  return { ...effects, turn: turn?.reply == null ? null : turn, ...settled };
}

/** The message is remembered, with a reply only where the answer stands. */
function passedOver(
  kit: Kit,
  route: ActiveRoute,
  one: ByHandMessage,
  upTo: string | null,
): Effects {
  const effects = lastEffects(kit, route, one, '');
  const { turn, trace } = effects;
  const step = { kind: 'operator', answeredWith: upTo as MessageId } as const;
  const sensitivity = strictest(one.message.sensitivity, route.brain.sensitivity);
  const steps = (trace?.steps ?? []).map((each) => (each.kind === 'operator' ? step : each));
  return {
    ...effects,
    replies: [],
    turn: turn === null ? null : { ...turn, reply: null, sensitivity },
    trace: trace === null ? null : { ...trace, steps },
  };
}
