/** The status of providers and models of the configuration in use, from the calls to them. */
import type { Config } from '../config/config.ts';
import type { FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import { addWindows, emptyWindow, type Span, type Window } from '../domain/health.ts';
import { Histogram } from '../lib/histogram.ts';
import type { CallMeters, Meters, ModelMeters, Shown } from '../telemetry/meters.ts';
import type {
  CallsStatus,
  ModelCallsStatus,
  ProviderStatus,
  TimesStatus,
  WindowStatus,
} from './model-probes.ts';

type Configured = Pick<Config, 'brains'>;
type AllMeters = Pick<Meters, 'providers' | 'models' | 'brains'>;

export function providersOf(
  { providers, models }: Pick<Meters, 'providers' | 'models'>,
  config: Configured,
): ProviderStatus[] {
  const inUse = providersByModel(config);
  return [...new Set(inUse.values())].map((provider) => {
    const met = providers.get(provider);
    const { standing, since, shownAt } = shownOf(met?.shown);
    const isFailing = standing === 'failing';
    const windows = [...inUse].flatMap(([model, its]) =>
      its === provider ? (models.get(model)?.window ?? []) : [],
    );
    return {
      ...callsOf(provider, met?.calls ?? noCalls),
      state: standing === 'degraded' ? 'up' : standing,
      standing,
      since,
      shownAt,
      reason: isFailing ? (met?.last?.reason ?? null) : null,
      model: isFailing ? (met?.last?.model ?? null) : null,
      window: windowOf(windows.reduce(addWindows, emptyWindow)),
    };
  });
}

/** Models in use, then former ones, which keep their counts and little else. */
export function modelsOf(meters: AllMeters, config: Configured): ModelCallsStatus[] {
  const inUse = providersByModel(config);
  const former = [...meters.models].filter(
    ([name, { calls }]) => !inUse.has(name) && calls.size > 0,
  );
  return [
    ...[...inUse].map(([model, provider]) => {
      return modelOf(
        model,
        provider,
        meters.models.get(model),
        repliesAround(model, meters, config),
      );
    }),
    ...former.map(([model, met]) => modelOf(model, met.provider, met, null)),
  ];
}

/** @param replies of the brains that may ask it; null: none may */
function modelOf(
  model: ModelName,
  provider: string,
  met: ModelMeters | undefined,
  replies: number | null,
): ModelCallsStatus {
  const shown = shownOf(met?.shown);
  return {
    model,
    ...callsOf(provider, met?.calls ?? noCalls),
    inUse: replies !== null,
    ...shown,
    reason: shown.standing === 'up' ? null : (met?.last ?? null),
    window: windowOf(met?.window ?? emptyWindow),
    answeredByOthers: replies === null ? null : Math.max(0, replies - (met?.replies ?? 0)),
  };
}

function repliesAround(model: ModelName, { brains }: AllMeters, config: Configured): number {
  const may = config.brains.filter((brain) => allowedModelsOf(brain).includes(model));
  return may.reduce((sum, { name }) => sum + (brains.get(name)?.window.fiveMinutes.good ?? 0), 0);
}

/** The models that the privacy filter leaves to a brain. */
export function allowedModelsOf({ models, sensitivity }: Config['brains'][number]): ModelName[] {
  return models.flatMap(({ provider, modelId, locality }) =>
    sensitivity === 'private' && locality === 'cloud'
      ? []
      : [`${provider}/${modelId}` as ModelName],
  );
}

const noCalls: CallMeters = new Map();

/** Each model with its provider. */
function providersByModel({ brains }: Configured): ReadonlyMap<ModelName, string> {
  const models = brains.flatMap((brain) => brain.models);
  return new Map(
    models.map(({ provider, modelId }) => [`${provider}/${modelId}` as ModelName, provider]),
  );
}

/** Times of an unknown health mean nothing to people, so they are null. */
export function shownOf(shown: Shown | undefined) {
  if (shown === undefined || shown.standing === 'unknown') {
    return { standing: 'unknown', since: null, shownAt: null } as const;
  }
  const { standing, since, shownAt } = shown;
  return { standing, since, shownAt };
}

export function windowOf({ minute, fiveMinutes }: Window): WindowStatus {
  return { oneMinute: spanOf(minute), fiveMinutes: spanOf(fiveMinutes) };
}

const spanOf = ({ good, bad }: Span) => ({ answers: good, failures: bad });

function callsOf(provider: string, calls: CallMeters): CallsStatus {
  const reasons: { code: FailureKind; count: number }[] = [];
  let givenUp = 0;
  for (const [code, { took }] of calls) {
    if (code === 'cancelled' || code === 'outranked') givenUp += took.count;
    else if (code !== 'answer') reasons.push({ code, count: took.count });
  }
  const answered = calls.get('answer');
  return {
    provider,
    answers: answered?.took.count ?? 0,
    failures: reasons.reduce((sum, { count }) => sum + count, 0),
    givenUp,
    reasons: reasons.sort((a, b) => b.count - a.count),
    times: timesOf(answered === undefined ? [] : [answered.took]),
  };
}

export function timesOf(histograms: readonly Readonly<Histogram>[]): TimesStatus {
  const all = new Histogram();
  for (const histogram of histograms) all.add(histogram);
  return { p50Ms: all.quantile(0.5), p95Ms: all.quantile(0.95) };
}
