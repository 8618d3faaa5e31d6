/** The state of a model, from everything that the page knows: the newest relevant fact counts. */
import type { Status } from '../../../src/admin/admin.ts';
import type { ModelProbe } from '../../../src/admin/model-probes.ts';
import type { FailureKind } from '../../../src/domain/failure.ts';
import { isSeenByLooks } from './advice.ts';

/** `at`: milliseconds since 1970. */
export type Looked = { readonly at: number; readonly look: ModelProbe };
/** The result of a question that was asked on this page. */
export type Heard = { readonly at: number; readonly result: 'answer' | FailureKind };

export type Verdict =
  | { readonly kind: 'answers' }
  /** The model is there, and no call was made yet. */
  | { readonly kind: 'there' }
  | { readonly kind: 'unknown' }
  /** The privacy filter keeps every brain from asking it. */
  | { readonly kind: 'dropped' }
  /** `since`: milliseconds since 1970; null: it was found just now. */
  | { readonly kind: 'failing'; readonly failure: FailureKind; readonly since: number | null };

type Told = Pick<Status, 'models' | 'brains'>;

/** @returns null: no brain of the configuration in use has this model */
export function verdictOf(
  name: string,
  status: Told,
  looked: Looked | null,
  heard: Heard | null,
): Verdict | null {
  const states = status.brains.flatMap(({ models }) =>
    models.flatMap((model) => (model.name === name ? [model.state] : [])),
  );
  if (states.length === 0) return null;
  if (!states.includes('asked')) return { kind: 'dropped' };
  const since = sinceOf(name, status);
  if (heard !== null && (looked === null || outlasts(heard, looked))) {
    return heard.result === 'answer'
      ? { kind: 'answers' }
      : { kind: 'failing', failure: heard.result, since };
  }
  const failure = looked?.look.failure ?? null;
  if (failure !== null) return { kind: 'failing', failure: failure.kind, since };
  return byCalls(name, status, looked !== null);
}

/** A successful probe overrides only failures that probes can see. */
function outlasts({ at, result }: Heard, { at: lookedAt, look }: Looked): boolean {
  if (at >= lookedAt) return true;
  if (result === 'answer') return look.failure === null;
  return look.failure === null && !isSeenByLooks(result);
}

function byCalls(name: string, { models }: Told, isThere: boolean): Verdict {
  const model = models.find((one) => one.model === name);
  const reason = model?.standing === 'failing' ? model.reason : null;
  if (reason !== null && !(isThere && isSeenByLooks(reason))) {
    return { kind: 'failing', failure: reason, since: model?.since ?? null };
  }
  if ((model?.answers ?? 0) > 0) return { kind: 'answers' };
  return { kind: isThere ? 'there' : 'unknown' };
}

function sinceOf(name: string, { models }: Told): number | null {
  const model = models.find((one) => one.model === name);
  return model?.standing === 'failing' ? model.since : null;
}
