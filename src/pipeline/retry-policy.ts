/** When a reply is tried again: decides from the outcome of one delivery attempt. Pure. */
import type { Failure } from '../domain/failure.ts';
import type { Deferral, DeliveryOutcome } from '../domain/reply.ts';
import { spread } from '../lib/backoff.ts';
import { retryAfterMsMax, type OutClaim, type Durability } from '../ledger/ledger.ts';

/** The shortest pause between two attempts of a reply that the platform rate-limits. */
const rateLimitPauseMsMin = 1_000;

export type RetryDecision =
  | { readonly kind: 'delivered' }
  /** Given back untouched; `at` is when it may be handed out again; null: at once. */
  | { readonly kind: 'release'; readonly at: number | null }
  | {
      readonly kind: 'defer';
      readonly at: number;
      readonly why: Failure;
      readonly how: Deferral;
    }
  | { readonly kind: 'bury'; readonly why: Failure };

type Retry = Extract<DeliveryOutcome, { kind: 'retry' }>;
type Clock = { readonly now: () => number; readonly random: () => number };

/**
 * Decides what follows from one delivery attempt, by the schedule of the ledger's `Durability`. A
 * cancelled attempt (drain, reload) does not count, unless the reply may have arrived. Then the
 * next attempt is marked as a possible duplicate.
 * @param spanMsMax how long after the first attempt the last one may be made
 */
export function decideRetry(
  outcome: DeliveryOutcome,
  claim: OutClaim,
  durability: Durability,
  clock: Clock,
  spanMsMax = Infinity,
): RetryDecision {
  if (outcome.kind === 'delivered') return { kind: 'delivered' };
  if (outcome.kind === 'dead') return { kind: 'bury', why: outcome.failure };
  if (outcome.kind === 'paced') return decidePaced(outcome, claim, durability, clock, spanMsMax);
  const { failure, mayHaveArrived } = outcome;
  if (failure.kind === 'cancelled') {
    if (!mayHaveArrived) return { kind: 'release', at: null };
    return {
      kind: 'defer',
      at: clock.now(),
      why: failure,
      // A detached reply stays detached.
      how: { park: false, possibleDuplicate: true, uncounted: true },
    };
  }
  return decideCounted(outcome, claim, durability, clock, spanMsMax);
}

function decideCounted(
  { failure, mayHaveArrived }: Pick<Retry, 'failure' | 'mayHaveArrived'>,
  claim: OutClaim,
  durability: Durability,
  clock: Clock,
  spanMsMax: number,
): RetryDecision {
  const possibleDuplicate = claim.possibleDuplicate || mayHaveArrived;
  const isResultUnseen = mayHaveArrived && !claim.possibleDuplicate && asksForPause(failure);
  const gapMs = gapAfter(claim.attemptOfSchedule, durability.deliveryGapsMs, spanMsMax);
  if (gapMs === null && !isResultUnseen) return { kind: 'bury', why: failure };
  const pauseMs = Math.max(
    spread(gapMs ?? 0, durability.jitter, clock.random),
    Math.min(failure.retryAfterMs ?? 0, retryAfterMsMax),
  );
  const isCold = claim.attemptOfSchedule > durability.hotGaps;
  const park = isCold || (!isResultUnseen && isLong(pauseMs, durability));
  const at = Math.round(clock.now() + pauseMs);
  return { kind: 'defer', at, why: failure, how: { park, possibleDuplicate } };
}

/**
 * A reply that svc held back without asking the platform waits as often as it takes. It loses no
 * attempt and no place in the order. The same holds when the platform says that a reply comes too
 * soon, until the schedule's time is over. After that it counts as an attempt like any other.
 */
function decidePaced(
  { pauseMs, asked }: Extract<DeliveryOutcome, { kind: 'paced' }>,
  claim: OutClaim,
  durability: Durability,
  clock: Clock,
  spanMsMax: number,
): RetryDecision {
  const askedMs = Math.min(pauseMs, retryAfterMsMax);
  if (asked === null) return { kind: 'release', at: Math.ceil(clock.now() + askedMs) };
  const { reply, possibleDuplicate } = claim;
  const scheduleMs = durability.deliveryGapsMs.reduce((sum, gapMs) => sum + gapMs, 0);
  if (clock.now() - reply.createdAt >= Math.min(scheduleMs, spanMsMax)) {
    const outcome = { failure: asked, mayHaveArrived: false };
    return decideCounted(outcome, claim, durability, clock, spanMsMax);
  }
  const at = Math.ceil(clock.now() + Math.max(askedMs, rateLimitPauseMsMin));
  return {
    kind: 'defer',
    at,
    why: asked,
    how: { park: false, possibleDuplicate, uncounted: true },
  };
}

/** The channel says how long to wait before the last attempt, whose result svc did not see. */
function asksForPause({ retryAfterMs }: Failure): boolean {
  return retryAfterMs !== null;
}

/** Longer than any pause for which the conversation's later replies wait. */
function isLong(pauseMs: number, { deliveryGapsMs, hotGaps, jitter }: Durability): boolean {
  return pauseMs > (deliveryGapsMs[hotGaps - 1] ?? 0) * (1 + jitter);
}

/** @returns the pause after that attempt, the last one cut to the span; null: no attempt follows */
function gapAfter(attempt: number, gapsMs: readonly number[], spanMsMax: number): number | null {
  let passedMs = 0;
  for (let at = 0; at < attempt - 1; at++) passedMs += gapsMs[at] ?? 0;
  const gapMs = gapsMs[attempt - 1];
  if (gapMs === undefined || passedMs >= spanMsMax) return null;
  return Math.min(gapMs, spanMsMax - passedMs);
}
