/** What an instance tells the others of its providers, models and brains. */
import type { Config } from '../../config/config.ts';
import type { ModelName } from '../../domain/ids.ts';
import { Histogram } from '../../lib/histogram.ts';
import type { CallMeters, CallResult, Meters, ProviderMeters } from '../../telemetry/meters.ts';
import { list, maybe, maybeBoolean, maybeNumber, maybeText } from '../schemas/schema.ts';
import { number, object, objectWith, oneOf, text } from '../schemas/schema.ts';
import type { Described, IdText } from '../schemas/schema.ts';

export const took = object({ counts: list(number), sumMs: number });
const calls = list(object({ result: text as IdText<CallResult>, took }));
const model = text as IdText<ModelName>;
const shown = object({ standing: text, since: number, shownAt: number });
const span = object({ good: number, bad: number });
const window = object({ minute: span, fiveMinutes: span });

/** As since the first release; `health`: the standing in its words, null where it is unknown. */
export const askedFields = {
  providers: list(
    objectWith(
      {
        provider: text,
        shownAt: number,
        health: maybe(
          object({
            state: oneOf('up', 'failing'),
            since: number,
            reason: maybeText,
            model: maybeText,
          }),
        ),
        calls,
      },
      { standing: maybeText },
    ),
  ),
  models: list(
    objectWith(
      { model, provider: text, calls },
      {
        inUse: maybeBoolean,
        shown: maybe(shown),
        last: maybeText,
        window: maybe(window),
        replies: maybeNumber,
      },
    ),
  ),
};

export const askedSince = { brains: maybe(list(object({ brain: text, shown, window }))) };

const askedSchema = objectWith(askedFields, askedSince);

export type AskedReport = Described<typeof askedSchema>;
export type Took = Described<typeof took>;

export function askedOf(meters: Meters, { brains }: Config): AskedReport {
  const asked = brains.flatMap((brain) => brain.models);
  const providers = new Set<string>(asked.map(({ provider }) => provider));
  const models = new Set(
    asked.map(({ provider, modelId }) => `${provider}/${modelId}` as ModelName),
  );
  const names = brains.map(({ name }) => name);
  return {
    providers: [...providers].flatMap((provider) => {
      const met = meters.providers.get(provider);
      if (met === undefined) return [];
      const { standing, shownAt } = met.shown;
      return [
        { provider, shownAt, health: healthSummary(met), calls: callsSummary(met.calls), standing },
      ];
    }),
    models: [...meters.models].map(([name, met]) => {
      const { provider, window: counted, replies, last } = met;
      const told = { model: name, provider, calls: callsSummary(met.calls), shown: met.shown };
      return { ...told, inUse: models.has(name), last, window: counted, replies };
    }),
    brains: names.flatMap((brain) => {
      const met = meters.brains.get(brain);
      if (met === undefined) return [];
      return [{ brain, shown: met.shown, window: met.window }];
    }),
  };
}

/** So many models that have no place in the configuration are told to other instances. */
const goneMax = 20;

/** Of the configuration in use, and few more, so that it does not grow with those that went. */
export function modelsSummary(models: AskedReport['models']): AskedReport['models'] {
  const gone = models.filter(({ inUse }) => inUse === false).slice(-goneMax);
  return [...models.filter(({ inUse }) => inUse !== false), ...gone];
}

function healthSummary({
  shown: told,
  last,
}: ProviderMeters): AskedReport['providers'][number]['health'] {
  const { standing, since } = told;
  if (standing === 'unknown') return null;
  if (standing !== 'failing') return { state: 'up', since, reason: null, model: null };
  return { state: 'failing', since, reason: last?.reason ?? null, model: last?.model ?? null };
}

function callsSummary(made: CallMeters): { result: CallResult; took: Took }[] {
  return [...made].map(([result, one]) => ({ result, took: tookBy([one.took]) }));
}

export function tookBy(histograms: readonly Readonly<Histogram>[]): Took {
  const all = new Histogram();
  for (const histogram of histograms) all.add(histogram);
  return { counts: [...all.counts], sumMs: all.sumMs };
}
