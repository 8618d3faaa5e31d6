/** The lines of `svc status` about brains, providers and models that have something to report. */
import { formatModelId, formatModelName, describeProvider } from '../../domain/model-words.ts';
import type { Status } from '../../admin/admin.ts';
import type {
  AnsweringStatus,
  ModelCallsStatus,
  ProviderStatus,
} from '../../admin/model-probes.ts';
import type { FailureKind } from '../../domain/failure.ts';
import { plural } from '../../domain/plural.ts';
import { remedyForModel } from '../../domain/remedy.ts';
import { isRescued, describeCause, describeFailed, healthSentences } from '../../domain/health.ts';
import type { Mark } from '../frame/report.ts';
import { formatDuration } from '../ledger/table.ts';

export type Line = { readonly mark: Mark; readonly subject: string; readonly message: string };

export function answeringLines(
  { answering, providers, models }: Status,
  now: number,
): readonly Line[] {
  const brains = (answering ?? []).filter(({ standing }) => isTrouble(standing));
  const reported = new Set([...brains, ...providers].map(({ model }) => model));
  return [
    ...brains.map((one) => brainLine(one, now)),
    ...providers.map((provider) => providerLine(provider, now)),
    ...models.flatMap((model) =>
      reported.has(model.model) ? [] : modelLine(model, brains.length === 0, now),
    ),
  ];
}

export const isTrouble = (standing: string | null): boolean =>
  standing === 'failing' || standing === 'degraded';

function brainLine(one: AnsweringStatus, now: number): Line {
  const { brain, standing, since, shownAt, model, reason, window } = one;
  const what =
    standing === 'failing' ? 'no model answers for it' : 'some of its messages get no answer';
  const lately = describeFailed(window, 'messages') ?? formatAge(shownAt, now);
  const message = [
    joinIfAny(`${what}${describeFor(since, now)}`, describeCause(model, reason), ': '),
    ...(lately === null ? [] : [lately]),
  ].join('; ');
  const mark = standing === 'failing' ? 'failed' : 'warning';
  return { mark, subject: `brain ${brain}`, message: withRemedy(message, model, reason) };
}

function providerLine(provider: ProviderStatus, now: number): Line {
  const { state, since, shownAt, reason, model, answers, failures, times } = provider;
  const subject = describeProvider(provider.provider);
  // A svc of a former release sends only `state`.
  const standing = provider.standing ?? state;
  const why =
    reason === null ? '' : ` (${model === null ? '' : `${formatModelId(model)}: `}${reason})`;
  const p95 = times.p95Ms === null ? '' : `, 95 in 100 within ${formatDuration(times.p95Ms)}`;
  const lately = describeFailed(provider.window, 'calls') ?? formatAge(shownAt, now);
  const message = [
    `${healthSentences[standing]}${why}${describeFor(since, now)}`,
    ...(lately === null ? [] : [lately]),
    `${plural(answers, 'answer')}${p95}, ${plural(failures, 'failure')} since the start`,
  ].join('; ');
  const mark = isTrouble(standing) ? 'warning' : 'ok';
  return { mark, subject, message: withRemedy(message, model, reason) };
}

/**
 * A line for a model that does not answer as it should.
 * @param isAnswered whether every message to every brain gets an answer
 */
function modelLine(one: ModelCallsStatus, isAnswered: boolean, now: number): readonly Line[] {
  const { model, inUse, standing, since, shownAt, reason, window, answeredByOthers } = one;
  if (inUse !== true || standing === null || !isTrouble(standing)) return [];
  const lately = describeFailed(window, 'calls') ?? formatAge(shownAt, now);
  const others = answeredByOthers ?? 0;
  const message = [
    `${healthSentences[standing]}${describeFor(since, now)}`,
    ...(lately === null ? [] : [lately]),
    ...(standing === 'degraded' && isAnswered && isRescued(one) ? ['retries answer'] : []),
    ...(others === 0 ? [] : [`other models answered ${plural(others, 'message')} in its place`]),
  ].join('; ');
  const why = reason === null ? message : `${message} (${reason})`;
  return [
    { mark: 'warning', subject: formatModelName(model), message: withRemedy(why, model, reason) },
  ];
}

const describeFor = (since: number | null, now: number): string =>
  since === null ? '' : ` for ${formatDuration(Math.max(0, now - since))}`;

const formatAge = (shownAt: number | null, now: number): string | null =>
  shownAt === null ? null : `last tried ${formatDuration(Math.max(0, now - shownAt))} ago`;

const joinIfAny = (one: string, other: string, by: string): string =>
  other === '' ? one : `${one}${by}${other}`;

function withRemedy(message: string, model: string | null, reason: FailureKind | null): string {
  const remedy = reason === null || model === null ? null : remedyForModel(reason, model);
  return remedy === null ? message : `${message}. ${remedy}`;
}
