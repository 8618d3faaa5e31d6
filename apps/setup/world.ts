/**
 * The world outside the steps: everything that the first run reads, asks, writes and starts. All
 * frontends share it. It uses svc's own parts and returns plain data.
 */
import type { SecretLookupResult, SecretSource } from '../../src/config/found-secret.ts';
import { explainKeychain } from '../../src/app/keychain.ts';
import { endsWithin } from '../../src/lib/lifetime.ts';
import { findPort, closeServer, listenOnLoopback } from '../../src/lib/loopback-port.ts';
import { createLog } from '../../src/lib/log.ts';
import type { SecretLookup } from '../../src/secrets/secrets.ts';
import { usualPlace, documentOf, nothingFound, localityOf, vendors } from './document.ts';
import { RunningService, type RunningServiceOptions } from './running.ts';
import { databaseFor, isOfUnit } from '../../src/app/service-place.ts';
import type { SecretValues, SetupWorld } from './session.ts';
import type { SetupEnd } from './setup.ts';
import type {
  Effect,
  EffectResult,
  PlaceFound,
  FileFound,
  TokenFound,
  ModelDraft,
  ModelsFound,
  ModelChoice,
  ModelOutcome,
} from './state.ts';
import { writeAll } from './writing.ts';
import { lstat } from 'node:fs/promises';
import { inspectConfig } from '../../src/config/inspect.ts';
import { locate, type JsonObject } from '../../src/config/locate.ts';
import type { Server } from 'node:http';
import { createPracticeModel } from '../../src/app/practice-model.ts';
import { isMessenger, kindOf, type ChannelType } from '../../src/channels/registry.ts';
import type { BrainConfig, Secrets } from '../../src/config/config.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import { textOf } from '../../src/config/templates/templates.ts';
import { validateText } from '../../src/config/validate.ts';
import {
  createMessenger,
  createServiceDeps,
  createTrialDeps,
  type ServiceDeps,
} from '../../src/app/service.ts';
import { later, steadyNow, systemClock } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient, type HttpClient } from '../../src/lib/http-client.ts';
import { stopOf } from '../../src/lib/stop.ts';
import { Writable } from 'node:stream';
import { remedyOf } from '../../src/domain/remedy.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { DryRun } from '../../src/app/dry-run.ts';
import { firstAnswerMs } from './pages.ts';

export type WorldOptions = RunningServiceOptions & {
  /** The path of the configuration file as a person would type it. */
  readonly shown: string;
  /** The base URL of a messenger's API; null: the platform's own. */
  readonly platform: string | null;
  /** Tests replace these. */
  readonly places?: Partial<Places>;
};

/** Where the first run looks for runtimes and ports, and for how long. */
export type Places = {
  /** The base URL of a runtime on this machine that speaks the hosted API. */
  readonly hostedHere: string;
  readonly requestMs: number;
  /** The preferred ports. If one is taken, svc tries the ports ten, twenty and more above it. */
  readonly ports: { readonly webhook: number; readonly replies: number; readonly admin: number };
};

/** `hostedHere` has LM Studio's default port: lmstudio.ai/docs/developer/core/server. */
const usualPlaces: Places = {
  hostedHere: 'http://127.0.0.1:1234/v1',
  requestMs: 1_000,
  ports: { webhook: 8090, replies: 8091, admin: 2112 },
};

export function createSetupWorld(options: WorldOptions): SetupWorld {
  return new World(options);
}

/** Longer than any drain takes. */
const closeMs = 40_000;

class World implements SetupWorld {
  readonly #options: WorldOptions;
  readonly #places: Places;
  readonly #practice = new PracticeModel();
  readonly #service: RunningService;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#places = { ...usualPlaces, ...options.places };
    this.#service = new RunningService(options);
  }

  get served(): Promise<SetupEnd> {
    return this.#service.served;
  }

  async act(
    effect: Effect,
    secretValues: SecretValues,
    signal: AbortSignal,
  ): Promise<EffectResult> {
    const { kind: of } = effect;
    const { env, lookup } = this.#options;
    switch (of) {
      case 'look_at_file':
        return { of, file: await lookAtFile(this.#options) };
      case 'look_for_models': {
        return { of, models: await lookForModels({ env, lookup, ...this.#places }, signal) };
      }
      case 'ask_model': {
        const practice = effect.model.kind === 'practice' ? await this.#practice.url() : null;
        const asking = { ...this.#options, secretValues, practice };
        return { of, outcome: await askModel(effect.model, asking, signal) };
      }
      case 'identify':
        return {
          of,
          token: await identify(effect.type, { ...this.#options, secretValues }, signal),
        };
      case 'look_at_place':
        return { of, place: await this.#lookAtPlace(effect, signal) };
      case 'write':
        return {
          of,
          written: await writeAll(effect.plan, { ...this.#options, secretValues }, signal),
        };
      case 'start': {
        const problem = await this.#service.start(secretValues);
        return { of, problem, liveView: this.#service.liveView };
      }
      case 'hear':
        return { of, heard: await this.#service.hear(effect, signal) };
      case 'let_in':
        return { of, heard: await this.#service.letIn(effect.code, effect.name) };
      default:
        return effect satisfies never;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endsWithin(this.#service[Symbol.asyncDispose](), closeMs);
    await this.#practice[Symbol.asyncDispose]();
  }

  async #lookAtPlace(
    { names, practises }: Extract<Effect, { readonly kind: 'look_at_place' }>,
    signal: AbortSignal,
  ): Promise<PlaceFound> {
    const { file, keychain, lookup, platform } = this.#options;
    const [state, found] = await Promise.all([keychain.state(signal), lookup.find(names, signal)]);
    const { ports } = this.#places;
    const replies = await freeAddress(ports.replies, usualPlaces.ports.replies);
    const fault = state === 'ready' ? null : explainKeychain(state);
    return {
      keychain: state,
      database: databaseFor(file),
      isUnit: isOfUnit(file),
      told: fault && `${fault.message} ${fault.remedy}`,
      set: names.filter((name) => isValue(found.get(name))),
      bind: await freeAddress(ports.webhook, usualPlaces.ports.webhook),
      replies: replies === null ? usualPlace.replies : `http://${replies}/reply`,
      admin: await freeAddress(ports.admin, usualPlaces.ports.admin),
      platform,
      practice: practises ? await this.#practice.url() : null,
    };
  }
}

function isValue(found: SecretLookupResult | undefined): boolean {
  return found?.kind === 'value';
}

/** The step to the next port of a listener. The file never gets an ephemeral port of the system. */
const portStep = 10;
const portsTried = 10;

/** @returns null: the default is free, or no port is */
async function freeAddress(wished: number, usual: number): Promise<string | null> {
  for (let tried = 0; tried < portsTried; tried++) {
    const port = await findPort(wished + tried * portStep, true);
    if (port !== null) return port === usual ? null : `127.0.0.1:${port}`;
  }
  return null;
}

/** Looks at the configuration file. A dangling link and an unreadable file count as existing. */
async function lookAtFile({
  file,
  shown: path,
  env,
}: Pick<WorldOptions, 'file' | 'shown' | 'env'>): Promise<FileFound> {
  if ((await lstat(file).catch(nullIfMissing)) === null) return { kind: 'absent', path };
  const { validation, text } = await inspectConfig(file, env, 'file');
  const there = { kind: 'there', path } as const;
  if (validation.kind === 'invalid') {
    const first = validation.problems.find(({ severity }) => severity === 'error');
    const place = first === undefined || first.path === '' ? '' : `${first.path}: `;
    const problem = `${place}${first?.message ?? 'it has a problem'}.`;
    return { ...there, problem, document: null, models: [], channels: [] };
  }
  const { channels, brains } = validation.config;
  return {
    ...there,
    problem: null,
    document: locate(text).value as JsonObject,
    models: brains.flatMap(({ models }) => models.map(({ modelId }) => modelId)),
    channels,
  };
}

function nullIfMissing({ code }: NodeJS.ErrnoException): null | undefined {
  return code === 'ENOENT' || code === 'ENOTDIR' ? null : undefined;
}

const wishedPort = 8092;

/** Starts the demo's practice model at the first request, and keeps it until disposal. */
class PracticeModel implements AsyncDisposable {
  #opened: Promise<{ readonly server: Server; readonly url: string }> | null = null;

  /** The base URL; it answers as Ollama would. */
  async url(): Promise<string> {
    this.#opened ??= open();
    return (await this.#opened).url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opened !== null) await closeServer((await this.#opened).server);
  }
}

async function open(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createPracticeModel();
  const port = await listenOnLoopback(server, wishedPort);
  return { server, url: `http://127.0.0.1:${port}` };
}

const identifyMs = 10_000;

type IdentifyOptions = {
  readonly secretValues: SecretValues;
  readonly lookup: SecretLookup;
  readonly version: string;
  readonly platform: string | null;
};

/**
 * Asks the platform whose token it is, before svc keeps the token anywhere. A pasted token takes
 * precedence over one found elsewhere.
 */
async function identify(
  type: ChannelType,
  { secretValues, lookup, version, platform }: IdentifyOptions,
  signal: AbortSignal,
): Promise<TokenFound> {
  const { variable } = kindOf(type).token;
  const found = await tokenOf(variable, secretValues, lookup, signal);
  if (found === null) return { kind: 'none' };
  const { token, source } = found;
  const config = configOf(type, platform);
  const deps = createSilentDeps(version);
  try {
    const secrets = new Map([[variable as EnvName, token]]);
    await using channel = createMessenger(config, secrets, deps);
    const end = AbortSignal.any([signal, AbortSignal.timeout(identifyMs)]);
    const identity = await channel.identify(end);
    if (identity.kind === 'refused') secretValues.delete(variable);
    return { ...identity, source };
  } finally {
    await deps.http.close();
  }
}

async function tokenOf(
  name: string,
  secretValues: SecretValues,
  lookup: SecretLookup,
  signal: AbortSignal,
): Promise<{ readonly token: string; readonly source: SecretSource | 'pasted' } | null> {
  const pasted = secretValues.get(name);
  if (pasted !== undefined) return { token: pasted, source: 'pasted' };
  const found = (await lookup.find([name], signal)).get(name);
  return found?.kind === 'value' ? { token: found.value.trim(), source: found.source } : null;
}

function configOf(type: ChannelType, platform: string | null) {
  const channel = { kind: 'channel', type, bot: null } as const;
  const draft = { file: 'new', channel, access: null, pasted: [], keep: null } as const;
  const facts = { ...nothingFound, place: { ...usualPlace, platform } };
  const document = documentOf({ ...draft, model: { kind: 'practice' } }, facts);
  const validation = validateText(textOf(document));
  const config = validation.kind === 'valid' ? validation.config.channels[0] : undefined;
  if (config === undefined || !isMessenger(config)) throw new Error(`${type} has no token to ask`);
  return config;
}

type SearchOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lookup: SecretLookup;
  /** The base URL of a runtime on this machine that speaks the hosted API, with `/v1`. */
  readonly hostedHere: string;
  /** The time limit of one request. */
  readonly requestMs: number;
};

const usualLocal = 'http://127.0.0.1:11434';
const bodyBytesMax = 4 * 1024 * 1024;

export async function lookForModels(
  { env, lookup, hostedHere, requestMs }: SearchOptions,
  signal: AbortSignal,
): Promise<ModelsFound> {
  const local = localBaseUrl(env['OLLAMA_HOST']);
  const http = createHttpClient(createDeadlines());
  await using closed = new AsyncDisposableStack();
  closed.defer(() => http.close());
  const read = (url: string): Promise<unknown> => readJson(http, url, requestMs, signal);
  const names = vendors.map(({ keyEnv }) => keyEnv);
  const [tags, models, keys] = await Promise.all([
    read(`${local}/api/tags`),
    read(`${hostedHere}/models`),
    lookup.find(names, signal),
  ]);
  const here = tags === null ? null : modelsOfTags(tags, local);
  const hosted = models === null ? null : modelsOfList(models, hostedHere);
  const empty = [here?.length === 0 ? local : null, hosted?.length === 0 ? hostedHere : null];
  return {
    near: [...(here ?? []), ...(hosted ?? [])],
    empty: empty.filter((url) => url !== null),
    keyed: vendors.filter(({ keyEnv }) => keys.get(keyEnv)?.kind === 'value'),
  };
}

/**
 * The base URL that `OLLAMA_HOST` means to a client, with or without scheme and port. An address of
 * all interfaces becomes this machine's. Source: envconfig/config.go of github.com/ollama/ollama.
 */
export function localBaseUrl(host: string | undefined): string {
  const written = (host ?? '').trim().replace(/^["']|["']$/g, '');
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?(.*)$/i.exec(written) ?? [];
  const usualPort = /^https?:/i.test(written) ? (/^https:/i.test(written) ? '443' : '80') : '11434';
  try {
    const withHost = rest.startsWith(':') || rest === '' ? `127.0.0.1${rest}` : rest;
    const url = new URL(`${scheme}://${withHost.replace(/\/.*$/, '')}`);
    const isAny = url.hostname === '0.0.0.0' || url.hostname === '[::]';
    const portWritten = /:(\d+)$/.exec(withHost.replace(/\/.*$/, ''))?.[1];
    const port = portWritten ?? usualPort;
    return `${scheme.toLowerCase()}://${isAny ? '127.0.0.1' : url.hostname}:${port}`;
  } catch {
    return usualLocal;
  }
}

/**
 * @returns the parsed JSON; null: nobody answers in time, or the answer is no JSON with status 200
 */
async function readJson(
  http: HttpClient,
  url: string,
  requestMs: number,
  signal: AbortSignal,
): Promise<unknown> {
  const deadlineAt = later(steadyNow(), requestMs);
  const request = { method: 'GET', headers: {}, body: null, deadlineAt, bodyBytesMax } as const;
  const result = await http.send({ ...request, url: new URL(url) }, stopOf(signal));
  if (result.kind === 'fault' || result.status !== 200) return null;
  try {
    return JSON.parse(result.body) as unknown;
  } catch {
    return null;
  }
}

/** Format: GET /api/tags, docs/api.md of github.com/ollama/ollama. */
function modelsOfTags(value: unknown, baseUrl: string): ModelDraft[] {
  return listIn(value, 'models').flatMap((entry) => {
    const { name, remote_host: remote, details } = entry;
    if (typeof name !== 'string' || isEmbedding(name, details)) return [];
    const modelId = name.replace(/:latest$/, '');
    const at = baseUrl === usualLocal ? null : baseUrl;
    const where = { provider: 'local_runtime', modelId, baseUrl: at } as const;
    const isAway = typeof remote === 'string' && remote !== '';
    const locality = isAway ? 'cloud' : localityOf(where);
    return [{ kind: 'model', ...where, locality, apiKeyEnv: null }];
  });
}

/** Format: GET /models, platform.openai.com/docs/api-reference/models. */
function modelsOfList(value: unknown, baseUrl: string): ModelDraft[] {
  return listIn(value, 'data').flatMap(({ id: modelId }) => {
    if (typeof modelId !== 'string' || isEmbedding(modelId, null)) return [];
    const where = { provider: 'hosted_runtime', modelId, baseUrl } as const;
    return [{ kind: 'model', ...where, locality: localityOf(where), apiKeyEnv: null }];
  });
}

/** An embedding model answers with numbers, not with words. */
function isEmbedding(name: string, details: unknown): boolean {
  const family = (details as { family?: unknown } | null | undefined)?.family;
  return /embed|minilm|^bge/i.test(name) || (typeof family === 'string' && /bert/i.test(family));
}

function listIn(value: unknown, key: string): Readonly<Record<string, unknown>>[] {
  const list = (value as Record<string, unknown> | null)?.[key];
  if (!Array.isArray(list)) return [];
  return list.filter((one): one is Record<string, unknown> => {
    return typeof one === 'object' && one !== null;
  });
}

const question = 'Say hello in one short sentence.';
/** The most characters shown of a model's answer. */
const shownMax = 500;

type AskOptions = {
  readonly secretValues: SecretValues;
  readonly lookup: SecretLookup;
  readonly version: string;
  /** The base URL of the practice model; null: it is not used. */
  readonly practice: string | null;
};

async function askModel(
  model: ModelChoice,
  options: AskOptions,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const brain = brainOf(model, options.practice);
  if (typeof brain === 'string') return { kind: 'failed', message: brain, remedy: null };
  const { apiKeyEnv } = brain.models[0]!;
  const secrets = await secretsFor(apiKeyEnv, options, signal);
  const deps = createSilentDeps(options.version);
  const end = AbortSignal.any([signal, AbortSignal.timeout(firstAnswerMs)]);
  try {
    const settings = { channel: null, skills: null, spend: null };
    const dryRun = new DryRun(brain, secrets, createTrialDeps(deps), settings);
    const { answers, ms } = await dryRun.ask(question, [], end);
    return outcomeOf(answers[0], brain, ms);
  } finally {
    await deps.http.close();
  }
}

type Answer = Awaited<ReturnType<DryRun['ask']>>['answers'][number] | undefined;

function outcomeOf(answer: Answer, { models }: BrainConfig, ms: number): ModelOutcome {
  if (answer?.kind === 'answer') {
    const { text } = answer;
    const isLong = text.length > shownMax;
    return {
      kind: 'answer',
      text: isLong ? `${text.slice(0, shownMax).toWellFormed()}…` : text,
      ms,
    };
  }
  if (answer?.kind !== 'failed') {
    return { kind: 'failed', message: answer?.reason ?? 'it was not asked', remedy: null };
  }
  const { kind, detail } = answer.failure;
  const { provider, modelId } = models[0]!;
  return { kind: 'failed', message: detail, remedy: remedyOf(kind, provider, modelId) };
}

/** @returns the brain that the file would have; a text: why it would have none */
function brainOf(model: ModelChoice, practice: string | null): BrainConfig | string {
  const channel = { kind: 'channel', type: 'webhook', bot: null } as const;
  const draft = { file: 'new', model, channel, access: null, pasted: [], keep: null } as const;
  const facts = { ...nothingFound, place: { ...usualPlace, practice } };
  const validation = validateText(textOf(documentOf(draft, facts)));
  if (validation.kind === 'valid') return validation.config.brains[0]!;
  return validation.problems.find(({ severity }) => severity === 'error')!.message;
}

async function secretsFor(
  name: EnvName | null,
  { secretValues, lookup }: AskOptions,
  signal: AbortSignal,
): Promise<Secrets> {
  if (name === null) return new Map();
  const pasted = secretValues.get(name);
  if (pasted !== undefined) return new Map([[name, pasted]]);
  const found = (await lookup.find([name], signal)).get(name);
  return found?.kind === 'value' ? new Map([[name, found.value.trim()]]) : new Map();
}

/** Dependencies for requests that belong to no service; nothing of them is logged. */
function createSilentDeps(version: string): ServiceDeps {
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const log = createLog({ stream: silence, level: 'error', format: 'text' });
  return createServiceDeps(createEvents({ log, ...systemClock }), version);
}
