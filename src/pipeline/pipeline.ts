/**
 * READ THIS FIRST: the whole program on one page. The gate lets a message pass. The ledger accepts
 * it into its inbox. A worker claims it, a brain answers it, and the turn is completed into the
 * outbox. Another worker claims the reply from there and delivers it. A turn changes everything in
 * one commit. The ledger owns order and retries; this page only walks.
 */
import type { Acceptance, Accepted, ReceiveResult, Refused } from '../channels/channel.ts';
import { withWords } from '../domain/failure.ts';
import { timeOfId } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import type { DeliveryOutcome } from '../domain/reply.ts';
import { pause } from '../lib/backoff.ts';
import { later, msSince } from '../lib/clock.ts';
import type { CursorMove, InClaim, OutClaim } from '../ledger/ledger.ts';
import { answerWithAttachments, mayHavePictures } from './attachments/attachment-turn.ts';
import { answerCommand, commandsOn } from './commands.ts';
import { PipelineTurnContext } from './turn-context.ts';
import { effectsOf, type TurnEnd } from './effects.ts';
import { deadLetterMessage, askBrain } from './turn-failure.ts';
import { followUp, retryPauseMs } from './approvals/follow-up-turn.ts';
import type { GatedChannel, Gate } from './gate.ts';
import { withMergeWindow } from './merging.ts';
import { askAgain } from './ask-again.ts';
import type { ActiveChannel, Deps, ActiveRoute } from './deps.ts';
import { activeRouteOf, routeOfRepeated, traceRoute, type Routing } from './route.ts';
import { TurnPreview } from './previews.ts';
import { takeRequest } from './request-turn.ts';
import { labelledQuote, withForwardedLabel } from './quoted-message.ts';
import { decideRetry } from './retry-policy.ts';
import { decideSession, repeatedTurnOf, traceSession, type SessionDecision } from './sessions.ts';

/** How many times the gate judges a batch while others move its cursors. */
const passesMax = 8;
/** The answer to a batch after that; the channel brings the batch again. */
const conflictRefusal: Refused = { kind: 'refused', reason: 'full', retryAfterMs: 1_000 };

/** Moves a cursor wherever it stands, so no conflict is possible. */
type FreeMove = CursorMove & { readonly expected?: never };

/**
 * channel → ledger. A channel may acknowledge the messages accepted here, and no others. Each
 * message gets its route, and the label of the route's brain unless it has a stricter one.
 */
export async function receive(
  deps: Deps,
  routing: Routing,
  batch: readonly Inbound[],
  ...cursors: readonly FreeMove[]
): Promise<Accepted | Refused>;
export async function receive(
  deps: Deps,
  routing: Routing,
  batch: readonly Inbound[],
  ...cursors: readonly CursorMove[]
): Promise<Acceptance>;
export async function receive(
  { ledger, events }: Deps,
  routing: Routing,
  batch: readonly Inbound[],
  ...cursors: readonly CursorMove[]
): Promise<Acceptance> {
  const routed = routing.route(batch);
  const acceptance = await ledger.accept(routed, ...cursors);
  if (acceptance.kind === 'refused') return acceptance;
  for (let i = 0; i < batch.length; i++) {
    const receipt = acceptance.receipts[i]!;
    const { id, duplicate, keyReused } = receipt;
    routing.accepted(routed[i]!, receipt);
    if (!keyReused) events.messageAccepted({ channel: batch[i]!.channel, id, duplicate });
  }
  return acceptance;
}

/**
 * channel → gate → ledger, for messengers. A message that the gate turns away needs no further
 * handling. When somebody else moved the gate's own cursor, the gate judges the batch again.
 * @param rules gives the channel's current rules: they may become narrower while this waits
 */
export async function receiveAtGate(
  deps: Deps,
  gate: Gate,
  rules: () => GatedChannel,
  batch: readonly Inbound[],
  ...cursors: readonly CursorMove[]
): Promise<ReceiveResult> {
  for (let passes = 1; ; passes++) {
    if (rules().access.pairing) await gate.loadPairings(rules().channel);
    // No await between judging the messages and handing them to the ledger.
    const { channel, access, routing, knows, gatherMs } = rules();
    const passage = gate.pass(channel, { access, knows, routing }, batch);
    const messages = passage.messages.map((message) =>
      withMergeWindow(message, { gatherMs, knows }),
    );
    const moves = [...cursors, ...passage.moves];
    const acceptance: Acceptance =
      messages.length === 0 && moves.length === 0
        ? { kind: 'accepted', receipts: [] }
        : await receive(deps, routing, messages, ...moves);
    if (acceptance.kind === 'accepted') {
      return { kind: 'accepted', receipts: passage.settle(acceptance.receipts) };
    }
    passage.undo();
    if (acceptance.reason !== 'conflict') return acceptance;
    if (passes === passesMax) return conflictRefusal;
    // Other waiting work runs first, also the work of the one who moved the cursor.
    await new Promise(setImmediate);
  }
}

/** ledger (inbox) → brain → ledger (outbox). A stopped claim is given back. */
export async function takeTurn(deps: Deps, channel: ActiveChannel, claim: InClaim): Promise<void> {
  if (channel.channel.openRequest !== undefined) return takeRequest(deps, channel, claim);
  if (claim.poison) return deadLetterMessage(deps, channel, claim, 'poison');
  const { message, memory, stop } = claim;
  const taken = activeRouteOf(channel, message);
  const claimedAt = deps.now();
  const since = deps.steady();
  const decision = decideSession(message, memory, commandsOn(deps, taken, message));
  const repeated = repeatedTurnOf(decision);
  const route =
    repeated === null ? taken : await routeOfRepeated(deps.ledger, taken, claim, repeated);
  if (route === null) {
    await pause(retryPauseMs, stop.signal);
    return deps.ledger.release(claim);
  }
  const { brain } = route;
  const where = { channel: message.channel, id: message.id, brain: brain.name };
  deps.events.turnStarted({ ...where, waitedMs: msSince(message.acceptedAt, deps) });

  const deadlineAt = later(since, brain.deadlineMs);
  const label = (repeated ?? message).sensitivity;
  const turnContext = new PipelineTurnContext(deps, claim, brain, deadlineAt, label);
  for (const step of traceRoute(route)) turnContext.addStep(step);
  if (route.session !== null) turnContext.addStep(traceSession(memory, decision));
  const end = await withWorkShown(deps, route, claim, turnContext, () =>
    answerMessage(deps, route, claim, decision, turnContext),
  );
  if (stop.stopped) return deps.ledger.release(claim);
  if (end === null) return deps.ledger.release(claim);

  const decidedAt = deps.now();
  const ms = deps.steady() - since;
  const timeline = { decision, claimedAt, decidedAt, turnContext };
  const effects = effectsOf(deps, route, claim, end, timeline);
  // A claim that was lost meanwhile has changed nothing, so there is nothing to report.
  if (!(await deps.ledger.complete(claim, effects))) return;
  const { sender } = message;
  if (effects.asked !== undefined) {
    for (const { tool } of effects.asked) deps.events.approvalAsked({ ...where, tool });
    deps.approvals.wake();
  }
  if (end.kind === 'command') {
    deps.events.commandAnswered({ ...where, sender, command: end.command, ms });
  } else {
    deps.events.turnFinished({ ...where, sender, decision: end, ms });
  }
}

/** Shows the person that svc works on an answer, and the growing answer, where the channel can. */
async function withWorkShown(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  turnContext: PipelineTurnContext,
  answering: () => Promise<TurnEnd | null>,
): Promise<TurnEnd | null> {
  const { channel } = route;
  if (channel.showWorking === undefined && channel.preview === undefined) return answering();
  const answered = new AbortController();
  channel.showWorking?.(claim.message.address, answered.signal);
  const preview =
    channel.preview === undefined ? null : new TurnPreview(deps, route, claim, turnContext);
  if (preview !== null) turnContext.show = preview.show;
  try {
    return await answering();
  } finally {
    answered.abort();
    await preview?.end();
  }
}

/**
 * svc answers a command; the brain answers everything else and sees the session so far.
 * @returns null: something that the answer needs cannot be read now
 */
async function answerMessage(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  decision: SessionDecision,
  turnContext: PipelineTurnContext,
): Promise<TurnEnd | null> {
  const { intent } = decision;
  if (intent.kind === 'follow') return followUp(deps, route, claim, intent.approval, turnContext);
  if (intent.kind !== 'think') return answerCommand(deps, route, claim, intent, decision);
  const shown = turnContext.historyFor(decision.move);
  const { text, again } = intent;
  if (again !== undefined) return askAgain(deps, route, claim, { again, shown }, turnContext);
  const isForwarded = claim.message.context?.forwardedFrom !== undefined;
  const message = isForwarded ? await withForwardedLabel(deps.ledger, route, claim) : claim.message;
  if (message.sensitivity === 'private') turnContext.becomePrivate();
  const quoted =
    message.context?.quoted === undefined ? null : await labelledQuote(deps.ledger, route, claim);
  turnContext.quoted = quoted;
  const turn = { message, text, ...shown, ...(quoted !== null && { quoted }) };
  const hasMedia = message.media !== null || message.context?.quoted?.media !== undefined;
  // An earlier attempt may have merged the message with others that had attachments.
  const mayHaveSome = hasMedia || (claim.attempt > 1 && route.channel.fetch !== undefined);
  const isBare = !mayHaveSome && !mayHavePictures(shown.history);
  if (isBare) return askBrain(deps, route.brain, turn, turnContext);
  return answerWithAttachments(deps, route, claim, turn, turnContext);
}

/** ledger (outbox) → channel. One attempt; the ledger keeps a reply that needs another one. */
export async function sendReply(
  deps: Deps,
  { channel: connection }: ActiveChannel,
  claim: OutClaim,
): Promise<void> {
  const { reply, attempt: number, possibleDuplicate, late, stop } = claim;
  const attempt = { number, possibleDuplicate, late };
  let outcome: DeliveryOutcome;
  deps.events.deliveryBegan(reply.address.channel);
  try {
    outcome = await connection.deliver(reply, attempt, stop);
  } finally {
    deps.events.deliveryEnded(reply.address.channel);
  }
  const next = decideRetry(outcome, claim, deps.ledger.durability, deps, connection.deliverMsMax);
  const channel = reply.address.channel;
  const message = reply.inReplyTo;
  const where = { channel, id: reply.id, message, attempt: number };
  switch (next.kind) {
    case 'delivered':
      if (!(await deps.ledger.delivered(claim))) return;
      return deps.events.replyDelivered({
        ...where,
        totalMs: msSince(timeOfId(message), deps),
      });
    case 'release':
      return deps.ledger.release(claim, next.at ?? undefined);
    case 'defer':
      if (!(await deps.ledger.defer(claim, next.at, withWords(next.why), next.how))) return;
      return deps.events.deliveryFailed({ ...where, failure: next.why, nextAt: next.at });
    case 'bury':
      if (!(await deps.ledger.deadLetter(claim, withWords(next.why)))) return;
      deps.events.deliveryFailed({ ...where, failure: next.why, nextAt: null });
      return deps.events.buried({ box: 'out', channel, id: reply.id, failure: next.why });
    default:
      next satisfies never;
  }
}
