/**
 * Builds a model from its configuration: a runtime with a concurrency limit, a context trimmer and
 * a check of its vision.
 */
import type { ModelConfig } from '../../config/config.ts';
import type { Events } from '../../domain/event.ts';
import { failure } from '../../domain/failure.ts';
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { earlier, later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import type { Stop } from '../../lib/stop.ts';
import { ContextTrimmer } from './context-trimmer.ts';
import type { RelayDetections } from './relay-detection.ts';
import type { PromptRecords } from './prompt-records.ts';
import { createHostedRuntime } from './hosted-runtime/hosted-runtime.ts';
import { createLocalRuntime } from './local-runtime/local-runtime.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import {
  picturesOn,
  type ContextSizes,
  type Model,
  type ModelCheck,
  type ModelRequest,
  type Vision,
} from './model.ts';
import type { RuntimeOptions } from './provider-call.ts';
import { Sight } from './vision.ts';
import { Cache } from '../../lib/cache.ts';

export type ModelDeps = Clock & {
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
  readonly events: Pick<Events, 'modelAsked' | 'modelAnswered' | 'faulted'>;
  readonly relayDetections: RelayDetections;
  readonly bounds: CallBounds;
  /** Records of the latest prompts of all brains. */
  readonly prompts: PromptRecords;
  /** The name of the brain; absent: the model is only probed. */
  readonly brain?: string;
};

/** The time limit for a provider's report on vision. */
const seesMs = 5_000;

type MakeRuntime = (options: RuntimeOptions) => Model;

const runtimes: Readonly<Record<ModelConfig['provider'], MakeRuntime>> = {
  local_runtime: createLocalRuntime,
  hosted_runtime: createHostedRuntime,
};

/** @param apiKey the value behind `apiKeyEnv`; null: the configuration names none */
export function buildModel(config: ModelConfig, apiKey: string | null, deps: ModelDeps): Model {
  const { provider, modelId, locality, baseUrl, timeoutMs, price } = config;
  const { outputTokensMax, contextTokens } = config;
  const name = `${provider}/${modelId}` as ModelName;
  const { http, deadlines, now, steady } = deps;
  const relay = deps.relayDetections.of(config);
  const payable = { model: name, price, costs: locality === 'cloud' || price !== null };
  const where = { name, modelId, locality, baseUrl, apiKey, timeoutMs, relay };
  const sight = new Sight(config.vision, steady);
  const { brain, prompts } = deps;
  const cacheKeyOf = (conversation: string): string | null =>
    brain === undefined ? null : prompts.cacheKey({ brain, conversation });
  const limits = { outputTokensMax, contextTokens, payable, sight, cacheKeyOf };
  const options = { ...where, ...limits, http, deadlines, now, steady };
  const bounds = deps.bounds.of(config, deps.deadlines);
  const trimmer = new ContextTrimmer(outputTokensMax, contextTokens);
  return new GuardedModel(runtimes[provider](options), bounds, sight, trimmer, deps);
}

/** Notes when the first word of a call comes. */
class StreamedCall {
  readonly request: ModelRequest;
  firstWordAt: SteadyTime | null = null;

  constructor(request: ModelRequest, steady: () => SteadyTime) {
    const onText = (whole: string): void => {
      this.firstWordAt ??= steady();
      request.onText?.(whole);
    };
    this.request = { ...request, onText };
  }
}

class GuardedModel implements Model {
  readonly name;
  readonly provider;
  readonly modelId;
  readonly locality;
  readonly mayForward;
  readonly #model: Model;
  readonly #deps: ModelDeps;
  readonly #limit: ConcurrencyLimit;
  readonly #sight: Sight;
  readonly #trimmer: ContextTrimmer;

  constructor(
    model: Model,
    limit: ConcurrencyLimit,
    sight: Sight,
    trimmer: ContextTrimmer,
    deps: ModelDeps,
  ) {
    this.name = model.name;
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.locality = model.locality;
    this.mayForward = model.mayForward;
    this.#model = model;
    this.#deps = deps;
    this.#limit = limit;
    this.#sight = sight;
    this.#trimmer = trimmer;
  }

  async ask(request: ModelRequest, stop: Stop): Promise<Outcome> {
    // A model gets pictures only after its vision is confirmed.
    const { lines, sensitivity, deadlineAt } = request;
    const hasPictures = lines.some((line) => picturesOn(line).length > 0);
    if (hasPictures && (await this.sees(sensitivity, deadlineAt)) !== true) {
      return { kind: 'failed', failure: failure('pictures_unsupported'), tries: [] };
    }
    const { steady, events, brain } = this.#deps;
    const since = steady();
    events.modelAsked({ model: this.name, provider: this.provider });
    const streamed = request.onText === undefined ? null : new StreamedCall(request, steady);
    const outcome = await this.#askWithinLimit(streamed?.request ?? request, stop);
    const firstWordAt = streamed?.firstWordAt ?? null;
    const { reuse } = outcome;
    if (outcome.kind === 'failed' && outcome.failure.kind === 'pictures_unsupported') {
      this.#sight.refused();
    }
    events.modelAnswered({
      brain,
      model: this.name,
      provider: this.provider,
      result: outcome.kind === 'answer' ? 'answer' : outcome.failure.kind,
      ...errorDetails(outcome),
      ...(reuse !== undefined && { reuse }),
      ...(firstWordAt !== null && { firstWordMs: firstWordAt - since }),
      ms: steady() - since,
    });
    return outcome;
  }

  check(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ModelCheck> {
    return this.#model.check(sensitivity, deadlineAt);
  }

  context(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ContextSizes | null> {
    return this.#model.context?.(sensitivity, deadlineAt) ?? Promise.resolve(null);
  }

  sees(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Vision> {
    const { steady } = this.#deps;
    return this.#model.sees(sensitivity, earlier(deadlineAt, later(steady(), seesMs)));
  }

  async #askWithinLimit(request: ModelRequest, stop: Stop): Promise<Outcome> {
    const entered = this.#limit.acquire(request.deadlineAt, stop);
    const pass = entered instanceof Promise ? await entered : entered;
    if (pass.kind !== 'pass') return { kind: 'failed', failure: failure(pass.kind), tries: [] };
    let outcome: Outcome | null = null;
    let reuse: number | null = null;
    try {
      outcome = await this.#trimmer.ask(request, (cut) => {
        reuse = this.#reuseOf(cut);
        return this.#model.ask(cut, stop);
      });
      return { ...outcome, ...(reuse !== null && { reuse }) };
    } catch (error) {
      this.#deps.events.faulted({ where: `model ${this.name}`, error });
      return { kind: 'failed', failure: failure('fault'), tries: [] };
    } finally {
      this.#limit.release(pass, outcome === null ? 'other' : strainOf(outcome));
    }
  }

  /** @param sent the request in the form that the provider gets */
  #reuseOf(sent: ModelRequest): number | null {
    const { brain, prompts } = this.#deps;
    const { conversation } = sent;
    if (brain === undefined || conversation === undefined) return null;
    return prompts.share({ brain, model: this.name, conversation }, sent);
  }
}

type ModelAnswered = Parameters<Events['modelAnswered']>[0];

/** The details for the operator besides the result. */
function errorDetails(outcome: Outcome): Pick<ModelAnswered, 'said' | 'status' | 'isCut'> {
  if (outcome.kind === 'answer') return outcome.isCut === true ? { isCut: true } : {};
  const { said, status } = outcome.failure;
  return { ...(said !== undefined && { said }), ...(status !== null && { status }) };
}

function strainOf(outcome: Outcome): 'answered' | 'strain' | 'other' {
  if (outcome.kind === 'answer') return 'answered';
  const { kind } = outcome.failure;
  return kind === 'overloaded' || kind === 'timeout' ? 'strain' : 'other';
}

// The concurrency limits of models outlive running configurations: a call of an old configuration
// counts against the limit of the new one. The same model at the same address with the same key has
// one limit, even if several brains list it. The limit is the lowest value in the newest
// configuration. The processes of a cluster divide it among them.

/**
 * Rejected configurations leave limits behind. Limits in use are renewed by every configuration.
 */
const boundsMax = 40_000;

export class CallBounds {
  /** By provider. Every call counts in the load of its provider. */
  readonly loads = new Map<string, Load>();
  readonly #kept = new Cache<string, ConcurrencyLimit>(boundsMax);

  /** A new limit has the value of this configuration; a known one keeps its value until `hold`. */
  of(config: ModelConfig, deadlines: Deadlines): ConcurrencyLimit {
    const { provider, inFlightMax } = config;
    const key = keyOf(config);
    const load = this.loads.get(provider) ?? { inFlight: 0, waiting: 0 };
    this.loads.set(provider, load);
    const bound = this.#kept.get(key) ?? new ConcurrencyLimit(inFlightMax, deadlines, load);
    this.#kept.put(key, bound, 1);
    return bound;
  }

  /**
   * Sets the limits of a new running configuration.
   * @param models the models of that configuration
   * @param share the number of processes that share the limits; each may make at least one call
   */
  hold(models: readonly ModelConfig[], share = 1): void {
    const limits = new Map<string, number>();
    for (const config of models) {
      const key = keyOf(config);
      limits.set(key, Math.min(config.inFlightMax, limits.get(key) ?? Infinity));
    }
    for (const [key, limit] of limits) {
      this.#kept.get(key)?.limitTo(Math.max(1, Math.floor(limit / share)));
    }
  }
}

function keyOf({ provider, baseUrl, modelId, apiKeyEnv }: ModelConfig): string {
  return JSON.stringify([provider, baseUrl, modelId, apiKeyEnv]);
}

/** One call's right to run, until `release`. */
export type Permit = { readonly kind: 'pass'; readonly era: number };
export type NoPermit = { readonly kind: 'cancelled' | 'deadline' };

/** Calls of all models of one provider. */
export type Load = { inFlight: number; waiting: number };

/**
 * Limits the concurrent calls to one model, over all running configurations. Other calls wait in
 * order. Strain means that the model is busy, or does not answer in time. It halves the bound, once
 * for all calls that were already running. Each answer raises the bound by one, up to the limit.
 */
export class ConcurrencyLimit {
  readonly #load: Load;
  #limit: number;
  readonly #deadlines: Deadlines;
  #bound: number;
  #inFlight = 0;
  /** The number of halvings. A call from an earlier era does not halve the bound again. */
  #era = 0;
  readonly #waiting = new Set<(turn: Permit | NoPermit) => void>();

  constructor(limit: number, deadlines: Deadlines, load: Load) {
    this.#load = load;
    this.#limit = limit;
    this.#bound = limit;
    this.#deadlines = deadlines;
  }

  get size(): { readonly inFlight: number; readonly waiting: number; readonly bound: number } {
    return { inFlight: this.#inFlight, waiting: this.#waiting.size, bound: this.#bound };
  }

  /** @param deadlineAt the end of the wait for a permit */
  acquire(deadlineAt: SteadyTime, stop: Stop): Permit | Promise<Permit | NoPermit> {
    // Waiting calls start as soon as there is room, so this call overtakes none.
    if (this.#inFlight < this.#bound) return this.#pass();
    return this.#wait(deadlineAt, stop);
  }

  /** Sets the limit. Running calls beyond it continue to their end. */
  limitTo(limit: number): void {
    const isStrained = this.#bound < this.#limit;
    this.#bound = isStrained ? Math.min(this.#bound, limit) : limit;
    this.#limit = limit;
    this.#admit();
  }

  /** @param how `strain`: the model was busy or too slow; `answered`: it gave an answer */
  release(permit: Permit, how: 'answered' | 'strain' | 'other'): void {
    this.#inFlight--;
    this.#load.inFlight--;
    if (how === 'answered') this.#bound = Math.min(this.#limit, this.#bound + 1);
    if (how === 'strain' && permit.era === this.#era) {
      this.#era++;
      this.#bound = Math.max(1, Math.floor(this.#bound / 2));
    }
    this.#admit();
  }

  #admit(): void {
    for (const enter of this.#waiting) {
      if (this.#inFlight >= this.#bound) break;
      enter(this.#pass());
    }
  }

  #pass(): Permit {
    this.#inFlight++;
    this.#load.inFlight++;
    return { kind: 'pass', era: this.#era };
  }

  #wait(deadlineAt: SteadyTime, stop: Stop): Promise<Permit | NoPermit> {
    if (stop.stopped) return Promise.resolve({ kind: 'cancelled' });
    return new Promise((resolve) => {
      const end = (result: Permit | NoPermit): void => {
        this.#waiting.delete(end);
        this.#load.waiting--;
        deadline.cancel();
        stop.unlisten(cancel);
        resolve(result);
      };
      const cancel = (): void => end({ kind: 'cancelled' });
      const deadline = this.#deadlines.at(deadlineAt, () => end({ kind: 'deadline' }));
      stop.listen(cancel);
      this.#waiting.add(end);
      this.#load.waiting++;
    });
  }
}
