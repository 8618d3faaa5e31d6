/**
 * Tries what a configuration needs of the world before the service is started with it: secrets,
 * providers, hosts, the place of the database. It changes nothing and sends no one's content; it
 * has connections of its own, so a service that runs in the same process is not disturbed.
 */
import { lookup } from 'node:dns/promises';
import { stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { Identity } from '../channel/channel.ts';
import type { ChannelKind } from '../channel/kind.ts';
import { isMessenger, kindOf } from '../channel/kinds.ts';
import type {
  BrainConfig,
  ChannelConfig,
  Config,
  MessengerConfig,
  ModelConfig,
  Secrets,
} from '../config/config.ts';
import type { Inspection } from '../config/inspect.ts';
import { rankModels } from '../config/rules.ts';
import { resolveSecrets, type ResolvedSecrets } from '../config/secrets.ts';
import { remedyOf, type Failure } from '../domain/failure.ts';
import { createEvents } from '../events.ts';
import { later, systemClock } from '../lib/clock.ts';
import { createLog } from '../lib/log.ts';
import type { ModelCheck } from '../model/model.ts';
import { createMessenger, createModel, createServiceKit, type ServiceKit } from '../service.ts';
import { failed, ok, warning, type PreflightLine } from './lines.ts';
import { storageLine } from './storage.ts';

const checkMs = 10_000;

export type Surroundings = {
  /** Where secrets are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** The database that this process has open, which the preflight leaves alone; null: none. */
  readonly heldDatabase: string | null;
  /** Aborts when the caller has left; what is under way ends, and its lines are of no use. */
  readonly left?: AbortSignal;
};

/**
 * @param inspection of a valid configuration; one with problems gets no lines
 * @returns in the order in which a person would look: secrets, providers, channels, folders of
 *   agents, storage
 */
export async function runPreflight(
  inspection: Inspection,
  { env, version, heldDatabase, left }: Surroundings,
): Promise<readonly PreflightLine[]> {
  const { validation, storagePath } = inspection;
  if (validation.kind === 'invalid') return [];
  const { config } = validation;
  const resolved = resolveSecrets(config, env);
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const log = createLog({ stream: silence, level: 'error', format: 'text' });
  const kit = createServiceKit(createEvents({ log, ...systemClock }), version);
  const leave = (): void => void kit.http.close();
  if (left?.aborted === true) leave();
  left?.addEventListener('abort', leave, { once: true });
  try {
    const [providers, channels, folders, storage] = await Promise.all([
      providerLines(config, resolved.secrets, kit),
      Promise.all(config.channels.map((channel) => channelLine(channel, resolved.secrets, kit))),
      folderLines(config),
      storagePath === null ? null : storageLine(storagePath, heldDatabase),
    ]);
    const lines = [...secretLines(resolved), ...providers, ...channels, ...folders];
    return storage === null ? lines : [...lines, storage];
  } finally {
    left?.removeEventListener('abort', leave);
    await kit.http.close();
  }
}

function secretLines(resolved: ResolvedSecrets): PreflightLine[] {
  const { secrets, missing, unfit, warnings } = resolved;
  const found = [...secrets.keys()].map((name) => ok(name, 'is set'));
  const faults = missing.map(({ name, usedAt }) => {
    const message = `is not set; it is used at ${usedAt.join(' and ')}`;
    return { ...failed(name, message, 'Set it in the environment.'), secret: true };
  });
  const wrong = unfit.map(({ path, message, remedy }) => {
    return { ...failed(path, message, remedy), secret: true };
  });
  const doubts = warnings.map(({ path, message, remedy }) => warning(path, message, remedy));
  return [...found, ...faults, ...wrong, ...doubts];
}

/** The models that brains may ask, each once; those that the shield drops are not contacted. */
function providerLines(
  config: Config,
  secrets: Secrets,
  kit: ServiceKit,
): Promise<PreflightLine[]> {
  const asked = new Map<string, Promise<PreflightLine>>();
  for (const brain of config.brains) {
    const used = agentModel(brain);
    for (const model of brain.models) {
      const closed = brain.sensitivity === 'private';
      const { provider, locality, baseUrl, modelId, apiKeyEnv } = model;
      const passedOver = used !== null && model !== used;
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

/** The one model that an agent asks; null: the brain is no agent, or is left without any model. */
function agentModel({ agent, policy, models, sensitivity }: BrainConfig): ModelConfig | null {
  if (agent === null) return null;
  const ranked = rankModels(policy.order, models).map((index) => models[index]!);
  const isPrivate = sensitivity === 'private';
  return ranked.find(({ locality }) => !isPrivate || locality === 'local') ?? null;
}

async function passedOverLine(brain: BrainConfig, model: ModelConfig): Promise<PreflightLine> {
  const message = `is never contacted: the agent "${brain.name}" uses another model`;
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
  const model = createModel(config, secrets, kit);
  const check = await model.check(brain.sensitivity, later(kit.steady(), checkMs));
  return lineOfCheck(subject, check, config, isPrivate);
}

function lineOfCheck(
  subject: string,
  check: ModelCheck,
  { provider, modelId, locality }: ModelConfig,
  isPrivate: boolean,
): PreflightLine {
  if (check.kind === 'failed') {
    const { detail } = check.failure;
    return failed(subject, detail, remedyHere(check.failure, provider));
  }
  if (check.hasModel === false) {
    const remedy = remedies[provider].noModel(modelId);
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

type Provider = ModelConfig['provider'];
type Remedies = {
  readonly noModel: (modelId: string) => string;
  readonly unreached: string;
};

const remedies: Readonly<Record<Provider, Remedies>> = {
  local_runtime: {
    noModel: (modelId) => `Fetch it (ollama pull ${modelId}), or name another.`,
    unreached: 'Start the local runtime, or check base_url.',
  },
  hosted_runtime: {
    noModel: () => 'Name another model.',
    unreached: 'Check base_url and the way to the network.',
  },
};

function remedyHere({ kind }: Failure, provider: Provider): string {
  const remedy = remedyOf(kind);
  if (remedy !== null) return remedy;
  if (kind === 'unauthorized') return 'Check the key in the environment.';
  if (kind === 'not_found') return 'Check base_url.';
  return remedies[provider].unreached;
}

async function channelLine(
  channel: ChannelConfig,
  secrets: Secrets,
  kit: ServiceKit,
): Promise<PreflightLine> {
  if (isMessenger(channel)) return messengerLine(channel, secrets, kit);
  const kind: ChannelKind = kindOf(channel.type);
  const replies = kind.repliesTo?.(channel as never);
  if (replies === undefined) return ok(channel.type, 'has nothing that could be asked');
  const { hostname, origin } = new URL(replies.url);
  const subject = `replies to ${origin}`;
  try {
    const { address } = await lookup(hostname.replace(/^\[|\]$/g, ''));
    return ok(subject, `the host is ${address}`);
  } catch {
    const remedy = `Check the host in ${replies.field}; until it is found, replies wait.`;
    return warning(subject, `the host ${hostname} cannot be found`, remedy);
  }
}

/** Asks the platform whose token it is. */
async function messengerLine(
  config: MessengerConfig,
  secrets: Secrets,
  kit: ServiceKit,
): Promise<PreflightLine> {
  const { type, tokenEnv } = config;
  if (!secrets.has(tokenEnv)) {
    const message = `was not asked about its bot, since ${tokenEnv} is not set`;
    return warning(type, message, 'Set the token and try again.');
  }
  await using channel = createMessenger(config, secrets, kit);
  return lineOfIdentity(config, await channel.identify(AbortSignal.timeout(checkMs)));
}

export function lineOfIdentity(
  { type, tokenEnv }: Pick<MessengerConfig, 'type' | 'tokenEnv'>,
  identity: Identity,
): PreflightLine {
  switch (identity.kind) {
    case 'known':
      return ok(type, `knows the token in ${tokenEnv}: it is ${identity.name} (${identity.id})`);
    case 'refused':
      return failed(type, identity.message, `Set ${tokenEnv} to the token that you were given.`);
    case 'unreached':
      return warning(type, identity.message, 'Check the way to the network; svc tries again.');
    default:
      return identity satisfies never;
  }
}

/** What agents read: their skills, and the folder of `read_file`. */
async function folderLines({ brains }: Config): Promise<PreflightLine[]> {
  const folders = brains.flatMap(({ name, agent }) => [
    { folder: agent?.skillsDir, what: `the skills of "${name}"`, field: 'skills_dir' },
    { folder: agent?.readFile?.root, what: `what "${name}" may read`, field: 'read_file.root' },
  ]);
  const lines = folders.map(async ({ folder, what, field }) => {
    if (!folder) return [];
    const found = await stat(folder).catch(() => null);
    if (found?.isDirectory() === true) return [ok(folder, `holds ${what}`)];
    const remedy = `Make the folder, or name another in ${field}.`;
    return [failed(folder, `is no folder; it is to hold ${what}`, remedy)];
  });
  return (await Promise.all(lines)).flat();
}
