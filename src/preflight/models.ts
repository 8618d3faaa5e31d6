/** The models of the brains: whether each is there. */
import type { BrainConfig, Config, ModelConfig, Secrets } from '../config/config.ts';
import { hasCloudTag } from '../config/rank.ts';
import { remedyOf } from '../domain/remedy.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import { later } from '../lib/clock.ts';
import type { ModelCheck } from '../model/model.ts';
import { createModel, type ServiceKit } from '../service.ts';
import { failed, ok, warning, type PreflightLine } from './lines.ts';

const checkMs = 10_000;

/** The models that brains may ask, each once; those that the shield drops are not contacted. */
export function providerLines(
  config: Config,
  secrets: Secrets,
  kit: ServiceKit,
): Promise<PreflightLine[]> {
  const asked = new Map<string, Promise<PreflightLine>>();
  for (const brain of config.brains) {
    for (const model of brain.models) {
      const closed = brain.sensitivity === 'private';
      const { provider, locality, baseUrl, modelId, apiKeyEnv } = model;
      const passedOver = passesOver(brain, model);
      const key = [closed, passedOver, provider, locality, baseUrl, modelId, apiKeyEnv].join(' ');
      if (asked.has(key)) continue;
      const line = passedOver
        ? passedOverLine(brain, model)
        : modelLine(brain, model, secrets, kit);
      asked.set(key, line);
    }
  }
  return Promise.all(asked.values());
}

/** An agent that keeps notes of the whole brain asks local models alone. */
function passesOver({ agent }: BrainConfig, model: ModelConfig): boolean {
  if (agent?.memory?.scope !== 'brain') return false;
  return model.locality === 'cloud' || hasCloudTag(model);
}

async function passedOverLine(brain: BrainConfig, model: ModelConfig): Promise<PreflightLine> {
  const message = `is never contacted: notes of the whole brain "${brain.name}" stay local`;
  return ok(subjectOf(model), message);
}

function subjectOf({ provider, modelId, baseUrl }: ModelConfig): string {
  return `${provider}/${modelId} at ${baseUrl}`;
}

async function modelLine(
  brain: BrainConfig,
  config: ModelConfig,
  secrets: Secrets,
  kit: ServiceKit,
): Promise<PreflightLine> {
  const subject = subjectOf(config);
  const isPrivate = brain.sensitivity === 'private';
  if (isPrivate && config.locality === 'cloud') {
    return ok(subject, `is never contacted: the brain "${brain.name}" is private`);
  }
  if (config.apiKeyEnv !== null && !secrets.has(config.apiKeyEnv)) {
    const message = `was not contacted, since ${config.apiKeyEnv} is not set`;
    return warning(subject, message, 'Set the key and try again.');
  }
  return lineOfModel(config, brain.sensitivity, secrets, kit);
}

/** Asks a provider whether it is there and has this model. */
export async function lineOfModel(
  config: ModelConfig,
  sensitivity: Sensitivity,
  secrets: Secrets,
  kit: ServiceKit,
): Promise<PreflightLine> {
  const model = createModel(config, secrets, kit);
  const check = await model.check(sensitivity, later(kit.steady(), checkMs));
  return lineOfCheck(subjectOf(config), check, config, sensitivity === 'private');
}

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
