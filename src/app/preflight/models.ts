/** The models of the brains: whether each is there. */
import type { BrainConfig, Config, ModelConfig, Secrets } from '../../config/config.ts';
import { hasCloudTag } from '../../config/rank.ts';
import { remedyOf } from '../../domain/remedy.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { later } from '../../lib/clock.ts';
import type { ContextSeen, ModelCheck } from '../../brains/models/model.ts';
import { createModel, type ServiceDeps } from '../service.ts';
import { failed, ok, warning, type PreflightLine } from './lines.ts';

const checkMs = 10_000;

/**
 * The models that brains may ask, each once; those that the shield drops are not contacted. Behind
 * a model of a local runtime stands how much it reads in one call.
 */
export async function providerLines(
  config: Config,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine[]> {
  const asked = new Map<string, Promise<readonly PreflightLine[]>>();
  for (const brain of config.brains) {
    for (const model of brain.models) {
      const closed = brain.sensitivity === 'private';
      const { provider, locality, baseUrl, modelId, apiKeyEnv, contextTokens } = model;
      const passedOver = passesOver(brain, model);
      const where = [provider, locality, baseUrl, modelId, apiKeyEnv, contextTokens];
      const key = [closed, passedOver, ...where].join(' ');
      if (asked.has(key)) continue;
      const lines = passedOver
        ? passedOverLines(brain, model)
        : modelLines(brain, model, secrets, deps);
      asked.set(key, lines);
    }
  }
  return (await Promise.all(asked.values())).flat();
}

/** An agent that keeps notes of the whole brain asks local models alone. */
function passesOver({ agent }: BrainConfig, model: ModelConfig): boolean {
  if (agent?.memory?.scope !== 'brain') return false;
  return model.locality === 'cloud' || hasCloudTag(model);
}

async function passedOverLines(brain: BrainConfig, model: ModelConfig): Promise<PreflightLine[]> {
  const message = `is never contacted: notes of the whole brain "${brain.name}" stay local`;
  return [ok(subjectOf(model), message)];
}

function subjectOf({ provider, modelId, baseUrl }: ModelConfig): string {
  return `${provider}/${modelId} at ${baseUrl}`;
}

async function modelLines(
  brain: BrainConfig,
  config: ModelConfig,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine[]> {
  const subject = subjectOf(config);
  const isPrivate = brain.sensitivity === 'private';
  if (isPrivate && config.locality === 'cloud') {
    return [ok(subject, `is never contacted: the brain "${brain.name}" is private`)];
  }
  if (config.apiKeyEnv !== null && !secrets.has(config.apiKeyEnv)) {
    const message = `was not contacted, since ${config.apiKeyEnv} is not set`;
    return [warning(subject, message, 'Set the key and try again.')];
  }
  const model = createModel(config, secrets, deps);
  const endsAt = later(deps.steady(), checkMs);
  const check = await model.check(brain.sensitivity, endsAt);
  const line = lineOfCheck(subject, check, config, isPrivate);
  const isHere = check.kind === 'reached' && check.hasModel === true && check.runs !== 'elsewhere';
  const seen = isHere ? ((await model.context?.(brain.sensitivity, endsAt)) ?? null) : null;
  return seen === null ? [line] : [line, lineOfContext(subject, seen, config.contextTokens)];
}

/** Asks a provider whether it is there and has this model. */
export async function lineOfModel(
  config: ModelConfig,
  sensitivity: Sensitivity,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine> {
  const model = createModel(config, secrets, deps);
  const check = await model.check(sensitivity, later(deps.steady(), checkMs));
  return lineOfCheck(subjectOf(config), check, config, sensitivity === 'private');
}

/** @param given `context_tokens`; null: the runtime decides */
function lineOfContext(
  subject: string,
  { isLoaded, loaded, set, most }: ContextSeen,
  given: number | null,
): PreflightLine {
  if (given !== null && most !== null && most < given) {
    const message = `was made for ${count(most)} tokens, and context_tokens is ${count(given)}`;
    return warning(subject, message, `Write "context_tokens": ${most}, which is all it gets.`);
  }
  if (given !== null) {
    const message = `gets ${count(given)} tokens, as context_tokens says`;
    if (loaded === null || loaded === given) return ok(subject, message);
    const now = `it is loaded with ${count(loaded)} now, and the next message loads it again`;
    return ok(subject, `${message}; ${now}`);
  }
  const upTo = most === null ? '' : `, up to ${count(most)}`;
  const hint = `svc leaves out history beyond that; context_tokens sets another number${upTo}`;
  return ok(subject, `${describeContext(isLoaded, loaded, set)}; ${hint}`);
}

/** The default is of docs/context-length.mdx of github.com/ollama/ollama. */
function describeContext(isLoaded: boolean, loaded: number | null, set: number | null): string {
  if (loaded !== null) return `is loaded with ${count(loaded)} tokens`;
  if (isLoaded) return 'is loaded, and its runtime does not say with how many tokens';
  if (set !== null) return `is not loaded; its model file sets num_ctx ${count(set)}`;
  return (
    'is not loaded, so its context is not known: Ollama takes OLLAMA_CONTEXT_LENGTH, or 4,096 ' +
    'tokens below 24 GiB of video memory'
  );
}

const count = (tokens: number): string => tokens.toLocaleString('en-US');

const anyRemedy = 'Check base_url and the way to the network.';

function lineOfCheck(
  subject: string,
  check: ModelCheck,
  { provider, modelId, locality }: ModelConfig,
  isPrivate: boolean,
): PreflightLine {
  if (check.kind === 'failed') {
    const { kind, detail } = check.failure;
    return failed(subject, detail, remedyOf(kind, provider, modelId) ?? anyRemedy);
  }
  if (check.hasModel === false) {
    const remedy = remedyOf('not_found', provider, modelId) ?? anyRemedy;
    return failed(subject, `answers, but has no model "${modelId}"`, remedy);
  }
  if (check.runs === 'elsewhere' && locality === 'local') {
    const message = 'answers, but hands the model’s requests on to a vendor';
    const remedy = 'Use a model that runs on this machine, or declare this one cloud.';
    return isPrivate ? failed(subject, message, remedy) : warning(subject, message, remedy);
  }
  if (check.runs === 'unknown' && isPrivate) {
    const message = 'answers, but does not list its models, so nothing private is sent to it';
    const remedy = 'Let it answer GET /api/tags with a list that holds the model.';
    return warning(subject, message, remedy);
  }
  if (check.hasModel === null) {
    const remedy = 'Nothing to do, when the model’s name is right.';
    return warning(subject, 'answers, but lists no models to look it up in', remedy);
  }
  return ok(subject, 'answers and has the model');
}
