/**
 * READ THIS FIRST. The whole program on one page: a message is accepted into the ledger, claimed
 * from its inbox, answered by a brain, completed into its outbox, claimed from there and delivered.
 * What a turn changes is one commit; order and retries are the ledger's; this page only walks.
 */
import type { Acceptance } from '../channel/channel.ts';
import { linesOf } from '../domain/conversation.ts';
import { timeOfId } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { InClaim, OutClaim } from '../store/store.ts';
import { effectsOf } from './effects.ts';
import { buryFaulty, think } from './faults.ts';
import type { Kit, Line } from './kit.ts';
import { nextStep } from './outbox.ts';

/** channel → ledger. What is accepted here may be acknowledged by the channel, and nothing else. */
export async function accept(kit: Kit, batch: readonly Inbound[]): Promise<Acceptance> {
  const acceptance = await kit.ledger.accept(batch);
  if (acceptance.kind === 'refused') return acceptance;
  for (let i = 0; i < batch.length; i++) {
    const { id, duplicate } = acceptance.receipts[i]!;
    kit.events.messageAccepted({ channel: batch[i]!.channel, id, duplicate });
  }
  return acceptance;
}

/** ledger (inbox) → brain → ledger (outbox). Once the signal aborts the claim is given back. */
export async function takeTurn(
  kit: Kit,
  line: Line,
  claim: InClaim,
  signal: AbortSignal,
): Promise<void> {
  if (claim.condemned) return buryFaulty(kit, line, claim, 'poison');
  const { message, memory } = claim;
  const claimedAt = kit.now();
  const where = { channel: message.channel, id: message.id, brain: line.brain.name };
  kit.events.turnStarted({ ...where, waitedMs: claimedAt - message.acceptedAt });
  line.channel.working?.(message.address, signal);

  const steps: TraceStep[] = [];
  const turn = { message, text: message.text, history: linesOf(memory.turns) };
  const deadlineAt = claimedAt + line.brain.deadlineMs;
  const decision = await think(kit, line.brain, turn, {
    signal,
    deadlineAt,
    step: (step) => steps.push(step),
  });
  if (signal.aborted) return kit.ledger.release(claim);

  const decidedAt = kit.now();
  const effects = effectsOf(kit, line, claim, decision, { claimedAt, decidedAt, steps });
  await kit.ledger.complete(claim, effects);
  kit.events.turnFinished({ ...where, decision, ms: decidedAt - claimedAt });
}

/** ledger (outbox) → channel. One try; the ledger keeps what is to be tried again. */
export async function sendReply(
  kit: Kit,
  line: Line,
  claim: OutClaim,
  signal: AbortSignal,
): Promise<void> {
  const { reply, attempt: number, possibleDuplicate, late } = claim;
  const attempt = { number, possibleDuplicate, late };
  const outcome = await line.channel.deliver(reply, attempt, signal);
  const next = nextStep(outcome, claim, kit.ledger.terms, kit);
  const where = { channel: reply.address.channel, id: reply.id, attempt: number };
  switch (next.kind) {
    case 'delivered':
      await kit.ledger.delivered(claim);
      return kit.events.replyDelivered({
        ...where,
        totalMs: kit.now() - timeOfId(reply.inReplyTo),
      });
    case 'release':
      return kit.ledger.release(claim);
    case 'defer':
      kit.events.deliveryFailed({ ...where, failure: next.why, nextAt: next.at });
      await kit.ledger.defer(claim, next.at, next.why, next.how);
      return;
    case 'bury':
      kit.events.deliveryFailed({ ...where, failure: next.why, nextAt: null });
      kit.events.buried({ box: 'out', channel: where.channel, id: reply.id, failure: next.why });
      await kit.ledger.bury(claim, next.why);
      return;
    default:
      next satisfies never;
  }
}
