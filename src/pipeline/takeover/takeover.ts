/**
 * A turn that an operator answers: it changes everything that any turn changes, and no model is
 * asked.
 */
import type { ApprovalId, MessageId } from '../../domain/ids.ts';
import { strictest } from '../../domain/sensitivity.ts';
import type { ConversationKey } from '../../domain/story.ts';
import type { OperatorAnswer } from '../../domain/takeover.ts';
import type { TakeoverMessage, Effects } from '../../ledger/ledger.ts';
import { commandsOn } from '../commands.ts';
import { emptyContext, effectsOf } from '../effects.ts';
import type { ActiveChannel, ActiveRoute, Deps } from '../deps.ts';
import { activeRouteOf, traceRoute } from '../route.ts';
import { decideSession, traceSession } from '../sessions.ts';
import { openApprovalsIn } from '../approvals/decide.ts';

export type OperatorReply = {
  readonly text: string;
  /** The last of the messages that it answers; null: the oldest waiting message. */
  readonly upTo: string | null;
};

/** `not_served`: its channel is not in the configuration in use. */
export type TakeoverResult = OperatorAnswer | { readonly kind: 'not_served' };

/**
 * Answers the messages up to `upTo` with one reply, which goes out like any other. The messages
 * before that one get no reply of their own.
 * @param channel undefined: the conversation's channel is not served
 */
export async function answerAsOperator(
  deps: Deps,
  channel: ActiveChannel | undefined,
  where: ConversationKey,
  { text, upTo }: OperatorReply,
): Promise<TakeoverResult> {
  if (channel === undefined) return { kind: 'not_served' };
  const answeredMessages: TakeoverMessage[] = [];
  const open = await openApprovalsIn(deps.ledger, where, deps.now());
  const result = await deps.ledger.takeovers.answer(where, upTo, (one, isLast) => {
    answeredMessages.push(one);
    const route = activeRouteOf(channel, one.message);
    const lastShown = answeredMessages.findLast(({ message }) => message.preview !== undefined);
    const effects = isLast
      ? lastEffects(deps, route, one, text, lastShown?.message.preview)
      : earlierEffects(deps, route, one, upTo);
    return withoutOwnMessage(one, open, effects);
  });
  if (result.kind !== 'answered') return result;
  for (const { message } of answeredMessages) {
    const { id, acceptedAt } = message;
    const brain = activeRouteOf(channel, message).brain.name;
    const ms = Math.max(0, deps.now() - acceptedAt);
    deps.events.answeredByOperator({ channel: where.channel, id, brain, ms });
  }
  return result;
}

/**
 * The effects of the message that gets the reply. A person answers it, so even a command is
 * remembered as text.
 * @param shownAs the platform's message that shows the beginning of a reply to one of the messages;
 *   absent: none
 */
function lastEffects(
  deps: Deps,
  route: ActiveRoute,
  one: TakeoverMessage,
  text: string,
  shownAs: string | null = null,
): Effects {
  const { message, memory, poison } = one;
  const now = deps.now();
  const { move } = decideSession(message, memory, commandsOn(deps, route, message));
  const decision = { move, intent: { kind: 'think', text: message.text } } as const;
  const visibleTurns = move === null ? memory.turns : [];
  // The operator sees the whole conversation, so the answer may repeat private text.
  const labels = visibleTurns.map(({ sensitivity }) => sensitivity);
  const turnContext = emptyContext(
    strictest(message.sensitivity, route.brain.sensitivity, ...labels),
    [
      ...traceRoute(route),
      ...(route.session === null ? [] : [traceSession(memory, decision)]),
      { kind: 'operator', answeredWith: null },
    ],
  );
  const timeline = {
    decision,
    claimedAt: now,
    decidedAt: now,
    turnContext: { ...turnContext, shownAs },
  };
  const effects = effectsOf(deps, route, one, { kind: 'by_hand', text }, timeline);
  // Later turns do not see a message that ends the process: it would end the process there, too.
  return poison ? { ...effects, turn: null } : effects;
}

/** For svc's own message: no person wrote it, and no call runs after it. */
function withoutOwnMessage(
  { message: { approval, welcome } }: TakeoverMessage,
  open: ReadonlySet<ApprovalId>,
  effects: Effects,
): Effects {
  if (approval === undefined && welcome !== true) return effects;
  const isSettled = approval !== undefined && open.has(approval);
  const settled = isSettled ? { settled: { id: approval, outcome: null } } : null;
  const { turn } = effects;
  return { ...effects, turn: turn?.reply == null ? null : turn, ...settled };
}

/**
 * The effects of an earlier message: it is remembered without a reply, and its trace names the
 * message that has the reply.
 */
function earlierEffects(
  deps: Deps,
  route: ActiveRoute,
  one: TakeoverMessage,
  upTo: string | null,
): Effects {
  const effects = lastEffects(deps, route, one, '');
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
