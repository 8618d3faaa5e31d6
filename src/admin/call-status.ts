/** What the calls to models say of the providers and models of the configuration in use. */
import type { Config } from '../config/config.ts';
import type { FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import { Histogram } from '../lib/histogram.ts';
import type { CallMeters, Meters } from '../meters.ts';
import type { CallsStatus, ModelCallsStatus, ProviderStatus, TimesStatus } from './admin.ts';

type Configured = Pick<Config, 'brains'>;

export function providersOf(
  { providers }: Pick<Meters, 'providers'>,
  config: Configured,
): ProviderStatus[] {
  const configured = modelsIn(config).map(({ provider }) => provider);
  return [...new Set<string>(configured)].map((provider) => {
    const met = providers.get(provider);
    const health = met?.health ?? { state: 'unknown' };
    return {
      ...callsOf(provider, met?.calls ?? none),
      state: health.state,
      since: health.state === 'unknown' ? null : health.since,
      reason: health.state === 'failing' ? health.reason : null,
      model: health.state === 'failing' ? health.model : null,
    };
  });
}

export function modelsOf(
  { models }: Pick<Meters, 'models'>,
  config: Configured,
): ModelCallsStatus[] {
  const configured = modelsIn(config).map(({ provider, modelId }): [ModelName, string] => [
    `${provider}/${modelId}` as ModelName,
    provider,
  ]);
  return [...new Map(configured)].map(([model, provider]) => {
    return { model, ...callsOf(provider, models.get(model)?.calls ?? none) };
  });
}

const none: CallMeters = new Map();

function modelsIn({ brains }: Configured) {
  return brains.flatMap(({ models }) => models);
}

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
