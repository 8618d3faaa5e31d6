/**
 * READ THIS FIRST. The whole program on one page: a message that the gate lets pass is accepted
 * into the ledger, claimed from its inbox, answered by a brain, completed into its outbox, claimed
 * from there and delivered.
 * What a turn changes is one commit; order and retries are the ledger's; this page only walks.
 */
import type { Acceptance, Accepted, Handled, Refused } from '../channels/channel.ts';
import { withWords } from '../domain/failure.ts';
import { timeOfId } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import type { DeliveryOutcome } from '../domain/reply.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import { later, msSince } from '../lib/clock.ts';
import type { CursorMove, InClaim, OutClaim } from '../ledger/ledger.ts';
import { thinkOfAttachments } from './attachments/attachment-turn.ts';
import { answerCommand, commandsOn } from './commands.ts';
import { TurnDesk } from './turn-context.ts';
import { mayBePictured } from './attachments/earlier-pictures.ts';
import { effectsOf, type TurnEnd } from './effects.ts';
import { buryMessage, think } from './turn-failure.ts';
import { follow } from './approvals/follow-up-turn.ts';
import type { GatedChannel, Gate } from './gate.ts';
import { withGather } from './merging.ts';
import { askAgain } from './ask-again.ts';
import type { Kit, ActiveRoute } from './deps.ts';
import { TurnPreview } from './previews.ts';
import { stampedQuote, withForwardedStamp } from './quoted-message.ts';
import { decideRetry } from './retry-policy.ts';
import { traceSession, decideSession, type SessionDecision } from './sessions.ts';

/** How often a batch is taken to the gate while others move its cursors. */
const passesMax = 8;
/** What a batch is answered with after that; the channel brings it again. */
const crowded: Refused = { kind: 'refused', reason: 'full', retryAfterMs: 1_000 };

/** Moves a cursor wherever it stands, so that there is no conflict. */
type FreeMove = CursorMove & { readonly expected?: never };

/**
 * channel → ledger. What is accepted here may be acknowledged by the channel, and nothing else.
 * @param sensitivity of the brain that answers this channel now: the messages' stamp for good,
 *   where they bear no stricter one
 */
export async function receive(
  kit: Kit,
  sensitivity: Sensitivity,
  batch: readonly Inbound[],
  ...cursors: readonly FreeMove[]
): Promise<Accepted | Refused>;
export async function receive(
  kit: Kit,
  sensitivity: Sensitivity,
  batch: readonly Inbound[],
  ...cursors: readonly CursorMove[]
): Promise<Acceptance>;
export async function receive(
  { ledger, events }: Kit,
  sensitivity: Sensitivity,
  batch: readonly Inbound[],
  ...cursors: readonly CursorMove[]
): Promise<Acceptance> {
  const stamped = batch.map((message) => {
    const own = message.sensitivity ?? sensitivity;
    return { ...message, sensitivity: strictest(sensitivity, own) };
  });
  const acceptance = await ledger.accept(stamped, ...cursors);
  if (acceptance.kind === 'refused') return acceptance;
  for (let i = 0; i < batch.length; i++) {
    const { id, duplicate, keyReused } = acceptance.receipts[i]!;
    if (!keyReused) events.messageAccepted({ channel: batch[i]!.channel, id, duplicate });
  }
  return acceptance;
}

/**
 * channel → gate → ledger, on a messenger. A message that is turned away is done with. Where the
 * gate's own cursor was moved by somebody else, it judges the batch again.
 * @param rules the channel's rules of now: they may become narrower while this waits
 */
export async function receiveAtGate(
  kit: Kit,
  gate: Gate,
  rules: () => GatedChannel,
  batch: readonly Inbound[],
  ...cursors: readonly CursorMove[]
): Promise<Handled> {
  for (let passes = 1; ; passes++) {
    if (rules().access.pairing) await gate.loadPairings(rules().channel);
    // The ledger has the messages in the same turn of the event loop in which they are judged.
    const { channel, access, sensitivity, knows, gatherMs } = rules();
    const passage = gate.pass(channel, { access, knows }, batch);
    const messages = passage.messages.map((message) => withGather(message, { gatherMs, knows }));
    const moves = [...cursors, ...passage.moves];
    const acceptance: Acceptance =
      messages.length === 0 && moves.length === 0
        ? { kind: 'accepted', receipts: [] }
        : await receive(kit, sensitivity, messages, ...moves);
    if (acceptance.kind === 'accepted') {
      return { kind: 'accepted', receipts: passage.settle(acceptance.receipts) };
    }
    passage.undo();
    if (acceptance.reason !== 'conflict') return acceptance;
    if (passes === passesMax) return crowded;
    // All else that waits goes first, and so does whoever moved the cursor.
    await new Promise(setImmediate);
  }
}

/** ledger (inbox) → brain → ledger (outbox). Once it is stopped the claim is given back. */
export async function takeTurn(kit: Kit, route: ActiveRoute, claim: InClaim): Promise<void> {
  if (claim.condemned) return buryMessage(kit, route, claim, 'poison');
  const { message, memory, stop } = claim;
  const [claimedAt, since] = [kit.now(), kit.steady()];
  const where = { channel: message.channel, id: message.id, brain: route.brain.name };
  kit.events.turnStarted({ ...where, waitedMs: msSince(message.acceptedAt, kit) });

  const decision = decideSession(message, memory, commandsOn(kit, route, message));
  const desk = new TurnDesk(kit, claim, route.brain, later(since, route.brain.deadlineMs));
  if (route.session !== null) desk.addStep(traceSession(memory, decision));
  const end = await showingWork(kit, route, claim, desk, () =>
    answer(kit, route, claim, decision, desk),
  );
  if (stop.stopped) return kit.ledger.release(claim);
  if (end === null) return kit.ledger.release(claim);

  const [decidedAt, ms] = [kit.now(), kit.steady() - since];
  const timeline = { decision, claimedAt, decidedAt, desk };
  const effects = effectsOf(kit, route, claim, end, timeline);
  // A claim that was lost meanwhile has changed nothing, so there is nothing to tell.
  if (!(await kit.ledger.complete(claim, effects))) return;
  const { sender } = message;
  if (effects.asked !== undefined) {
    for (const { tool } of effects.asked) kit.events.approvalAsked({ ...where, tool });
    kit.approvals.wake();
  }
  if (end.kind === 'command') {
    kit.events.commandAnswered({ ...where, sender, command: end.command, ms });
  } else {
    kit.events.turnFinished({ ...where, sender, decision: end, ms });
  }
}

/** Shows that an answer is worked on, and the answer while it grows, where the channel can. */
async function showingWork(
  kit: Kit,
  route: ActiveRoute,
  claim: InClaim,
  desk: TurnDesk,
  answering: () => Promise<TurnEnd | null>,
): Promise<TurnEnd | null> {
  const { channel } = route;
  if (channel.working === undefined && channel.preview === undefined) return answering();
  const answered = new AbortController();
  channel.working?.(claim.message.address, answered.signal);
  const preview = channel.preview === undefined ? null : new TurnPreview(kit, route, claim, desk);
  if (preview !== null) desk.show = preview.show;
  try {
    return await answering();
  } finally {
    answered.abort();
    await preview?.end();
  }
}

/**
 * A command is answered by svc, everything else by the brain, which sees the session so far. Null:
 * what is needed for it cannot be read now.
 */
async function answer(
  kit: Kit,
  route: ActiveRoute,
  claim: InClaim,
  decision: SessionDecision,
  desk: TurnDesk,
): Promise<TurnEnd | null> {
  const { act } = decision;
  if (act.kind === 'follow') return follow(kit, route, claim, act.approval, desk);
  if (act.kind !== 'think') return answerCommand(kit, route, claim, act, decision);
  const shown = desk.shownOf(decision.move);
  const { text, again } = act;
  if (again !== undefined) return askAgain(kit, route, claim, { again, shown }, desk);
  const isForwarded = claim.message.context?.forwardedFrom !== undefined;
  const message = isForwarded ? await withForwardedStamp(kit.ledger, route, claim) : claim.message;
  if (message.sensitivity === 'private') desk.becomePrivate();
  const quoted =
    message.context?.quoted === undefined ? null : await stampedQuote(kit.ledger, route, claim);
  desk.quoted = quoted;
  const turn = { message, text, ...shown, ...(quoted !== null && { quoted }) };
  const hasMedia = message.media !== null || message.context?.quoted?.media !== undefined;
  // What it was joined with at an earlier try may have brought some.
  const mayHaveSome = hasMedia || (claim.attempt > 1 && route.channel.fetch !== undefined);
  const isBare = !mayHaveSome && !mayBePictured(shown.history);
  if (isBare) return think(kit, route.brain, turn, desk);
  return thinkOfAttachments(kit, route, claim, turn, desk);
}

/** ledger (outbox) → channel. One try; the ledger keeps what is to be tried again. */
export async function sendReply(kit: Kit, route: ActiveRoute, claim: OutClaim): Promise<void> {
  const { reply, attempt: number, possibleDuplicate, late, stop } = claim;
  const attempt = { number, possibleDuplicate, late };
  let outcome: DeliveryOutcome;
  kit.events.deliveryBegan(reply.address.channel);
  try {
    outcome = await route.channel.deliver(reply, attempt, stop);
  } finally {
    kit.events.deliveryEnded(reply.address.channel);
  }
  const next = decideRetry(outcome, claim, kit.ledger.durability, kit, route.channel.deliverMsMax);
  const [channel, message] = [reply.address.channel, reply.inReplyTo];
  const where = { channel, id: reply.id, message, attempt: number };
  switch (next.kind) {
    case 'delivered':
      if (!(await kit.ledger.delivered(claim))) return;
      return kit.events.replyDelivered({
        ...where,
        totalMs: msSince(timeOfId(message), kit),
      });
    case 'release':
      return kit.ledger.release(claim, next.at ?? undefined);
    case 'defer':
      if (!(await kit.ledger.defer(claim, next.at, withWords(next.why), next.how))) return;
      return kit.events.deliveryFailed({ ...where, failure: next.why, nextAt: next.at });
    case 'bury':
      if (!(await kit.ledger.bury(claim, withWords(next.why)))) return;
      kit.events.deliveryFailed({ ...where, failure: next.why, nextAt: null });
      return kit.events.buried({ box: 'out', channel, id: reply.id, failure: next.why });
    default:
      next satisfies never;
  }
}
