import type { Apology } from '../domain/decision.ts';
import type { FailureKind } from '../domain/failure.ts';
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
export function apologyOf(calls: readonly Pick<ModelCall, 'outcome'>[]): Apology {
  const kinds = calls.map(({ outcome }) =>
    outcome?.kind === 'failed' ? outcome.failure.kind : null,
  );
  if (kinds.some((kind) => kind !== null && passing.has(kind))) return 'busy';
  return kinds.includes('fault') ? 'fault' : 'no_answer';
}
