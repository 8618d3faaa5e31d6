import type { Sorry } from '../domain/decision.ts';
import type { Failure, FailureKind } from '../domain/failure.ts';
import type { ModelCall } from './model-call.ts';

/** Failures that may be over in a little while, so that it is worth asking again. */
const passing: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'timeout',
  'deadline',
  'rate_limited',
  'overloaded',
  'connect_failed',
  'connect_timeout',
  'cancelled',
]);

/** One model that may be there again soon is reason enough to ask for patience. */
export function apologyOf(calls: readonly Pick<ModelCall, 'outcome'>[]): Sorry {
  const failures = calls.flatMap(({ outcome }) =>
    outcome?.kind === 'failed' ? [outcome.failure] : [],
  );
  if (failures.some(({ kind }) => passing.has(kind))) return { apology: 'busy' };
  const isOver = failures.some(({ kind }) => kind === 'over_budget');
  if (isOver) return { apology: 'over_budget', opensAt: soonestOf(failures) };
  const [first] = failures;
  const isTooLong = failures.every(({ kind }) => kind === 'context_overflow');
  if (isTooLong && first !== undefined) return { apology: 'too_long' };
  return { apology: failures.some(({ kind }) => kind === 'fault') ? 'fault' : 'no_answer' };
}

function soonestOf(failures: readonly Failure[]): number | null {
  const soonest = Math.min(...failures.map(({ opensAt }) => opensAt ?? Infinity));
  return soonest === Infinity ? null : soonest;
}
