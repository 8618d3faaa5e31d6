/** Brains whose messages get no answer, and models in whose place others answer, as concerns. */
import { failure } from '../../../src/domain/failure.ts';
import { formatModelName } from '../../../src/domain/model-words.ts';
import type { Status } from '../../../src/admin/admin.ts';
import type { AnsweringStatus, ModelCallsStatus } from '../../../src/admin/model-probes.ts';
import { remedyForModel } from '../../../src/domain/remedy.ts';
import { isRescued, describeCause, describeFailed } from '../../../src/domain/health.ts';
import { ago, lasted, sentence, some, upper } from '../../kit/words.ts';
import type { Concern } from './concerns.ts';

export function ofUnanswered({ answering, models }: Status, now: number): readonly Concern[] {
  const brains = (answering ?? []).flatMap((one) => ofBrain(one, now));
  const told = new Set(brains.map(({ model }) => model));
  const isAnswered = brains.length === 0;
  return [
    ...brains.map(({ concern }) => concern),
    ...models.flatMap((one) => (told.has(one.model) ? [] : ofModel(one, isAnswered, now))),
  ];
}

type Told = { readonly concern: Concern; readonly model: string | null };

function ofBrain(one: AnsweringStatus, now: number): readonly Told[] {
  const { brain, standing, since, model, reason } = one;
  if (standing !== 'failing' && standing !== 'degraded') return [];
  const begin =
    standing === 'failing'
      ? `No model answers for the brain ${brain}`
      : `Some messages to the brain ${brain} get no answer`;
  const cause = describeCause(model, reason);
  const what = sentences(
    `${begin}${since === null ? '' : `, for ${lasted(since, now)} now`}${
      cause === '' ? '' : `: ${cause}`
    }`,
    describeFailed(one.window, 'messages') ?? formatAge(one.shownAt, now),
  );
  const remedy = model === null || reason === null ? null : remedyForModel(reason, model);
  const place = model === null ? { view: 'messages', brain } : { view: 'model', id: model };
  return [{ concern: { key: `brain ${brain}`, tone: 'bad', what, remedy, place }, model }];
}

/** @param isAnswered whether every brain answers its messages */
function ofModel(one: ModelCallsStatus, isAnswered: boolean, now: number): readonly Concern[] {
  const { model, inUse, standing, since, reason, answeredByOthers } = one;
  if (inUse !== true || (standing !== 'failing' && standing !== 'degraded')) return [];
  const name = formatModelName(model);
  const begin =
    standing === 'failing'
      ? `${name} does not answer${since === null ? '' : `, for ${lasted(since, now)} now`}`
      : `${name} fails at some calls${isAnswered && isRescued(one) ? ', and retries answer' : ''}`;
  const why = reason === null ? '' : `: ${failure(reason).detail}`;
  const others =
    (answeredByOthers ?? 0) > 0
      ? `Other models answered ${some(answeredByOthers ?? 0, 'message')} in its place`
      : null;
  const counted = describeFailed(one.window, 'calls') ?? formatAge(one.shownAt, now);
  const what = sentences(`${begin}${why}`, counted, others);
  const remedy = reason === null ? null : remedyForModel(reason, model);
  return [
    { key: `model ${model}`, tone: 'wait', what, remedy, place: { view: 'model', id: model } },
  ];
}

/** The health of a model without recent calls stays as it was, so its age is shown. */
const formatAge = (shownAt: number | null, now: number): string | null =>
  shownAt === null ? null : `last tried ${ago(shownAt, now)}`;

function sentences(first: string, ...more: readonly (string | null)[]): string {
  const said = more.flatMap((words) => (words === null ? [] : [sentence(upper(words))]));
  return [sentence(first), ...said].join(' ');
}
