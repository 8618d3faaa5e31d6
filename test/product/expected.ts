/**
 * Computes the expected result of a case from the rules alone. It knows the whole plan of every
 * model, and shares no code with the brain.
 */
import { failures, type FailureName } from '../fake/failures.ts';
import type { Case } from './cases.ts';

export type Expected = {
  /** The text of the reply, or the apology. */
  readonly reply: string;
  readonly apology: string | null;
  /** Ranks in the order of the calls; one entry for each call. */
  readonly asked: readonly number[];
  /** The outcomes of each asked model, one for each try. */
  readonly tries: Readonly<Record<number, readonly string[]>>;
  readonly winner: number | null;
  readonly votes: readonly (readonly number[])[];
};

const retriesMax = 2;
const passing = new Set<FailureName>(['refused', 'reset', 'cut', '429', '503', '500', 'empty']);
const worthWaiting = new Set(['connect_failed', 'timeout', 'rate_limited', 'overloaded']);

/** Whether no server receives the calls to this model. */
export function isClosed({ plans }: Case, rank: number): boolean {
  const plan = plans[rank]!;
  return plan !== 'answers' && plan.fails === 'refused';
}

/** Whether the model of this rank is asked again after its call of this number, from 0. */
export function mayRetry({ plans }: Case, rank: number, ask: number): boolean {
  const plan = plans[rank]!;
  if (plan === 'answers' || ask >= plan.times || ask >= retriesMax) return false;
  return passing.has(plan.fails);
}

/** The outcome of this rank's call of this number, from 0. */
function outcomeOf({ plans }: Case, rank: number, ask: number): string {
  const plan = plans[rank]!;
  return plan === 'answers' || ask >= plan.times ? 'answer' : failures[plan.fails];
}

export function expected(given: Case): Expected {
  return given.dispatch === 'fanout' ? fanout(given) : sequential(given);
}

function fanout(given: Case): Expected {
  const asked: number[] = [];
  const tries: Record<number, string[]> = {};
  let round = given.listed;
  for (let ask = 0; round.length > 0; ask++) {
    const pending = new Set(round);
    asked.push(...round);
    for (const rank of given.order.filter((other) => round.includes(other))) {
      pending.delete(rank);
      (tries[rank] ??= []).push(outcomeOf(given, rank, ask));
      const decided = decide(given, tries, pending, asked);
      if (decided !== null) return decided;
    }
    round = round.filter((rank) => mayRetry(given, rank, ask));
  }
  return apologize(given, tries, asked);
}

function decide(
  given: Case,
  tries: Record<number, string[]>,
  pending: ReadonlySet<number>,
  asked: readonly number[],
): Expected | null {
  const ranks = given.plans.map((_, rank) => rank);
  const answered = ranks.filter((rank) => tries[rank]?.at(-1) === 'answer' && !pending.has(rank));
  if (given.policy === 'priority') {
    const best = answered[0];
    if (best === undefined || ranks.some((rank) => rank < best && pending.has(rank))) return null;
    return replyOf(given, best, tries, pending, asked, []);
  }
  const votes = given.agree ? [answered] : answered.map((rank) => [rank]);
  const most = votes[0]?.length ?? 0;
  const ofAll = most * 2 > ranks.length;
  const ofAnswers = pending.size === 0 && most >= 2 && most * 2 > answered.length;
  if (ofAll || ofAnswers) return replyOf(given, answered[0]!, tries, pending, asked, votes);
  if (pending.size > 0 || answered.length === 0) return null;
  return { reply: '', apology: 'no_consensus', asked, tries, winner: null, votes };
}

function replyOf(
  given: Case,
  winner: number,
  tries: Record<number, string[]>,
  pending: ReadonlySet<number>,
  asked: readonly number[],
  votes: readonly (readonly number[])[],
): Expected {
  for (const rank of pending) (tries[rank] ??= []).push('outranked');
  return { reply: given.texts[winner]!, apology: null, asked, tries, winner, votes };
}

/** Asks in listed order until one answers, then repeats those with a passing failure. */
function sequential(given: Case): Expected {
  const asked: number[] = [];
  const tries: Record<number, string[]> = {};
  let round = given.listed;
  for (let ask = 0; round.length > 0; ask++) {
    for (const rank of round) {
      asked.push(rank);
      const outcome = outcomeOf(given, rank, ask);
      (tries[rank] ??= []).push(outcome);
      if (outcome !== 'answer') continue;
      if (given.policy === 'priority') return replyOf(given, rank, tries, new Set(), asked, []);
      const votes = [[rank]];
      return { reply: '', apology: 'no_consensus', asked, tries, winner: null, votes };
    }
    round = round.filter((rank) => mayRetry(given, rank, ask));
  }
  return apologize(given, tries, asked);
}

function apologize(
  { plans }: Case,
  tries: Record<number, string[]>,
  asked: readonly number[],
): Expected {
  const last = plans.map((_, rank) => tries[rank]?.at(-1) ?? '');
  const isTooLong = last.every((kind) => kind === 'context_overflow');
  const none = isTooLong ? 'too_long' : 'no_answer';
  const apology = last.some((kind) => worthWaiting.has(kind)) ? 'busy' : none;
  return { reply: '', apology, asked, tries, winner: null, votes: [] };
}
