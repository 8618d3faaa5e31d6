/**
 * Warns the operator about models of local runtimes that will not answer. Causes: the runtime does
 * not run, or lacks the model; a private brain's model is on another machine, or the runtime
 * forwards it to a vendor. The result counts in the providers' health until a call shows another.
 * While all models of a provider are away, it probes again, so that a return is noticed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ModelProbeResult } from '../../domain/event.ts';
import type { ModelName } from '../../domain/ids.ts';
import { remedyForModel } from '../../domain/remedy.ts';
import { later } from '../../lib/clock.ts';
import type { RoutedModel } from '../running-config.ts';
import type { ServiceDeps } from '../service.ts';
import type { ModelProbe, ModelProbes } from '../../admin/model-probes.ts';
import { failure, type FailureKind } from '../../domain/failure.ts';
import type { ModelCheck } from '../../brains/models/model.ts';

/** How long a runtime may take to answer. */
const probeMs = 5_000;
/** How long to wait before probing a runtime again. */
const probeAgainMs = 30_000;

type Deps = Pick<ServiceDeps, 'events' | 'steady'>;

/**
 * Probes the runtimes in the background, for warnings and the health of providers. Models remember
 * earlier results, and a private request waits by itself for a missing one. No answer says nothing
 * about where a model runs.
 */
export class ModelWatch {
  readonly #deps: Deps;
  readonly #over: AbortSignal;
  readonly #againMs: number;
  #replaced = new AbortController();

  /** @param over aborts when the service ends */
  constructor(deps: Deps, over: AbortSignal, againMs = probeAgainMs) {
    this.#deps = deps;
    this.#over = over;
    this.#againMs = againMs;
  }

  /** Watches these models from now on, in place of the previous ones. */
  use(models: readonly RoutedModel[]): void {
    this.#replaced.abort();
    this.#replaced = new AbortController();
    const over = AbortSignal.any([this.#over, this.#replaced.signal]);
    watch(models, this.#deps, over, this.#againMs).catch((error: unknown) =>
      this.#deps.events.faulted({ where: 'looking at the models', error }),
    );
  }
}

async function watch(
  models: readonly RoutedModel[],
  deps: Deps,
  over: AbortSignal,
  againMs: number,
): Promise<void> {
  const warned = new Set<string>();
  const watched = models.filter(
    ({ sensitivity, model }) =>
      model.mayForward && (sensitivity === 'public' || model.locality === 'local'),
  );
  while (!over.aborted) {
    const results = await Promise.all(watched.map((one) => probeAndWarn(one, warned, deps)));
    if (over.aborted || reportHealth(results, deps)) return;
    // `pause` rejects when the signal aborts.
    await pause(againMs, null, { signal: over, ref: false }).catch(() => {});
  }
}

type ProbeResult = {
  readonly model: ModelName;
  readonly provider: string;
  readonly found: ModelProbeResult;
};

/**
 * A provider is well while any of its models is there, since others may answer instead.
 * @returns whether all providers are well
 */
function reportHealth(results: readonly ProbeResult[], { events }: Deps): boolean {
  let isWell = true;
  for (const ofOne of Map.groupBy(results, ({ provider }) => provider).values()) {
    const there = ofOne.filter(({ found }) => found === 'there' || found === 'reached');
    for (const one of there.length > 0 ? there : ofOne) events.modelLooked(one);
    isWell &&= there.length > 0;
  }
  return isWell;
}

async function probeAndWarn(
  { brain, sensitivity, config, model }: RoutedModel,
  warned: Set<string>,
  { events, steady }: Deps,
): Promise<ProbeResult> {
  const found = await model.check(sensitivity, later(steady(), probeMs));
  const why = failureOf(found, sensitivity === 'private');
  const result = {
    model: model.name,
    provider: model.provider,
    found: why ?? successOf(found),
  } as const;
  if (found.kind === 'failed' && found.failure.kind === 'far_address') {
    events.warned({
      code: 'model_far',
      message:
        `${model.modelId} of the private brain ${brain} is at ${config.baseUrl}: neither ` +
        'on this machine nor in a private network, so it is not asked. Write the base_url of a ' +
        'runtime that is.',
    });
    return result;
  }
  if (found.kind === 'reached' && found.runs === 'elsewhere' && sensitivity === 'private') {
    events.warned({
      code: 'model_leaves_machine',
      message:
        `${model.modelId} of the private brain ${brain} is handed on to a vendor by the local ` +
        'runtime, so it is not asked. Choose a model that runs here; where this one does by now, ' +
        'restart svc.',
    });
  }
  const kind = found.kind === 'failed' ? found.failure.kind : 'not_found';
  const remedy = remedyForModel(kind, model.name);
  if ((found.kind === 'reached' && found.hasModel !== false) || remedy === null) return result;
  const message = `${model.name} will not answer yet. ${remedy}`;
  const key = `${config.baseUrl} ${message}`;
  if (!warned.has(key)) events.warned({ code: 'model_not_ready', message });
  warned.add(key);
  return result;
}

// Probes a model of the configuration in use when a person asks. It sends no one's content. The
// result counts in the provider's health.

/** How long a provider may take to answer. */
const providerProbeMs = 5_000;
const atOnceMax = 4;

type ModelProbesDeps = Pick<ServiceDeps, 'events' | 'steady'>;

/**
 * @param models of the running configuration; a model that the privacy filter drops is never probed
 */
export function createModelProbes(
  models: () => readonly RoutedModel[],
  deps: ModelProbesDeps,
): ModelProbes {
  let underWay = 0;
  return {
    async probe(name) {
      const planned = models().find((one) => one.model.name === name && mayAsk(one));
      if (planned === undefined) return { kind: 'none' };
      if (underWay >= atOnceMax) return { kind: 'busy' };
      underWay++;
      try {
        return { kind: 'looked', probe: await probeModel(planned, deps) };
      } finally {
        underWay--;
      }
    },
  };
}

const mayAsk = ({ sensitivity, model }: RoutedModel): boolean =>
  sensitivity === 'public' || model.locality === 'local';

/** The most models that a page offers in the place of a missing one. */
const othersMax = 50;

async function probeModel(
  { sensitivity, config, model }: RoutedModel,
  { events, steady }: ModelProbesDeps,
): Promise<ModelProbe> {
  const check = await model.check(sensitivity, later(steady(), providerProbeMs));
  const found = failureOf(check, sensitivity === 'private');
  const { name, provider } = model;
  events.modelLooked({ model: name, provider, found: found ?? successOf(check) });
  const failed = found === null ? null : failure(found);
  const isLocal = provider === 'local_runtime';
  return {
    model: name,
    address: config.baseUrl,
    keyEnv: config.apiKeyEnv,
    failure: failed === null ? null : { kind: failed.kind, detail: failed.detail },
    others: check.kind === 'reached' && isLocal ? check.others.slice(0, othersMax) : [],
  };
}

/** @returns null: nothing prevents an answer */
function failureOf(check: ModelCheck, isPrivate: boolean): FailureKind | null {
  if (check.kind === 'failed') return check.failure.kind;
  if (isPrivate && check.runs === 'elsewhere') return 'left_machine';
  return check.hasModel === false ? 'not_found' : null;
}

/** The probe result if nothing prevents an answer. */
function successOf(check: ModelCheck): 'there' | 'reached' {
  return check.kind === 'reached' && check.hasModel === null ? 'reached' : 'there';
}
