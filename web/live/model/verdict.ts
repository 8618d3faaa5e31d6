/** The state of a model, from everything that the page knows: the newest relevant fact counts. */
import type { Status } from '../../../src/admin/admin.ts';
import type { ModelProbe } from '../../../src/admin/model-probes.ts';
import type { FailureKind } from '../../../src/domain/failure.ts';
import { isSeenByProbes } from './advice.ts';

/** `at`: milliseconds since 1970. */
export type ProbeResult = { readonly at: number; readonly probe: ModelProbe };
/** The result of a question that was asked on this page. */
export type QuestionResult = { readonly at: number; readonly result: 'answer' | FailureKind };

export type Verdict =
  | { readonly kind: 'answers' }
  /** The model is there, and no call was made yet. */
  | { readonly kind: 'there' }
  | { readonly kind: 'unknown' }
  /** The privacy filter keeps every brain from asking it. */
  | { readonly kind: 'dropped' }
  /** `since`: milliseconds since 1970; null: it was found just now. */
  | { readonly kind: 'failing'; readonly failure: FailureKind; readonly since: number | null };

type StatusFacts = Pick<Status, 'models' | 'brains'>;

/** @returns null: no brain of the configuration in use has this model */
export function verdictOf(
  name: string,
  status: StatusFacts,
  probeResult: ProbeResult | null,
  asked: QuestionResult | null,
): Verdict | null {
  const states = status.brains.flatMap(({ models }) =>
    models.flatMap((model) => (model.name === name ? [model.state] : [])),
  );
  if (states.length === 0) return null;
  if (!states.includes('asked')) return { kind: 'dropped' };
  const since = sinceOf(name, status);
  if (asked !== null && (probeResult === null || outlasts(asked, probeResult))) {
    return asked.result === 'answer'
      ? { kind: 'answers' }
      : { kind: 'failing', failure: asked.result, since };
  }
  const failure = probeResult?.probe.failure ?? null;
  if (failure !== null) return { kind: 'failing', failure: failure.kind, since };
  return byCalls(name, status, probeResult !== null);
}

/** A successful probe overrides only failures that probes can see. */
function outlasts({ at, result }: QuestionResult, { at: probedAt, probe }: ProbeResult): boolean {
  if (at >= probedAt) return true;
  if (result === 'answer') return probe.failure === null;
  return probe.failure === null && !isSeenByProbes(result);
}

function byCalls(name: string, { models }: StatusFacts, isThere: boolean): Verdict {
  const model = models.find((one) => one.model === name);
  const reason = model?.standing === 'failing' ? model.reason : null;
  if (reason !== null && !(isThere && isSeenByProbes(reason))) {
    return { kind: 'failing', failure: reason, since: model?.since ?? null };
  }
  if ((model?.answers ?? 0) > 0) return { kind: 'answers' };
  return { kind: isThere ? 'there' : 'unknown' };
}

function sinceOf(name: string, { models }: StatusFacts): number | null {
  const model = models.find((one) => one.model === name);
  return model?.standing === 'failing' ? model.since : null;
}
