/**
 * All that the steps do and see outside: one object, which both faces share. It looks, asks, writes
 * and starts by the pieces that svc is made of, and says what it found as plain data.
 */
import type { FoundSecret, SecretSource } from '../../src/config/found-secret.ts';
import { explainKeychain } from '../../src/app/keychain.ts';
import { endsWithin } from '../../src/lib/lifetime.ts';
import { findPort, closeServer, listenNear } from '../../src/lib/loopback-port.ts';
import { createLog, type Log } from '../../src/lib/log.ts';
import type { Setup } from '../../src/app/run-contract.ts';
import type { Keychain, ServiceSecrets, SecretLookup } from '../../src/secrets/secrets.ts';
import { usualPlace, documentOf, nothingFound, localityOf, vendors } from './document.ts';
import { RunningService } from './running.ts';
import { databaseFor, isOfUnit } from '../../src/app/service-place.ts';
import type { Pouch, SetupWorld } from './session.ts';
import type { SetupEnd } from './setup.ts';
import type {
  Effect,
  Found,
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
import type { EnvName, BrainConfig, Secrets } from '../../src/config/config.ts';
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

export type WorldOptions = {
  /** Absolute. */
  readonly file: string;
  /** The same as a person would type it. */
  readonly shown: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lookup: ServiceSecrets;
  readonly keychain: Keychain;
  readonly version: string;
  readonly webRoot: URL;
  /** Of the service that is started. */
  readonly log: Log;
  /** Ends a service that was started. */
  readonly stop: AbortSignal;
  readonly abandon: AbortSignal;
  /** Is told of each turn of that service. */
  readonly onTurn?: Setup['onTurn'];
  /** Where the API of a messenger is; null: the platform's own. */
  readonly platform: string | null;
  /** What differs in tests. */
  readonly places?: Partial<Places>;
};

/** Where is looked, and for how long. */
export type Places = {
  /** Of a runtime that speaks the hosted API on this machine. */
  readonly hostedHere: string;
  readonly lookMs: number;
  /** Taken where they are free; else ten more, or twenty … */
  readonly ports: { readonly webhook: number; readonly replies: number; readonly admin: number };
};

/** LM Studio's own port: lmstudio.ai/docs/developer/core/server. */
const usualPlaces: Places = {
  hostedHere: 'http://127.0.0.1:1234/v1',
  lookMs: 1_000,
  ports: { webhook: 8090, replies: 8091, admin: 2112 },
};

export function createSetupWorld(options: WorldOptions): SetupWorld {
  return new World(options);
}

/** Longer than any drain. */
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

  async act(effect: Effect, pouch: Pouch, signal: AbortSignal): Promise<Found> {
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
        const asking = { ...this.#options, pouch, practice };
        return { of, outcome: await askModel(effect.model, asking, signal) };
      }
      case 'identify':
        return { of, token: await identify(effect.type, { ...this.#options, pouch }, signal) };
      case 'look_at_place':
        return { of, place: await this.#lookAtPlace(effect, signal) };
      case 'write':
        return { of, written: await writeAll(effect.plan, { ...this.#options, pouch }, signal) };
      case 'start': {
        const problem = await this.#service.start(pouch);
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

function isValue(found: FoundSecret | undefined): boolean {
  return found?.kind === 'value';
}

/** Of each listener the next port to try: what stands in the file is no port that is lent out. */
const portStep = 10;
const portsTried = 10;

/** Null: the default is free, or no port is. */
async function freeAddress(wished: number, usual: number): Promise<string | null> {
  for (let tried = 0; tried < portsTried; tried++) {
    const port = await findPort(wished + tried * portStep, true);
    if (port !== null) return port === usual ? null : `127.0.0.1:${port}`;
  }
  return null;
}

// What lies already where the file is to be.

/** A link that leads nowhere, and what cannot be read, is there all the same. */
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
    channels: channels.map(({ type }) => type),
  };
}

function nullIfMissing({ code }: NodeJS.ErrnoException): null | undefined {
  return code === 'ENOENT' || code === 'ENOTDIR' ? null : undefined;
}

/** The practice model of the demo, once somebody asks for it, for as long as this object lives. */
const wishedPort = 8092;

class PracticeModel implements AsyncDisposable {
  #opened: Promise<{ readonly server: Server; readonly url: string }> | null = null;

  /** Where it answers, as Ollama would. */
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
  const port = await listenNear(server, wishedPort);
  return { server, url: `http://127.0.0.1:${port}` };
}

/** Whose token it is: the platform is asked before the token is kept anywhere. */
const identifyMs = 10_000;

type IdentifyOptions = {
  readonly pouch: Pouch;
  readonly lookup: SecretLookup;
  readonly version: string;
  readonly platform: string | null;
};

/** What was pasted is asked about; else what stands somewhere. */
async function identify(
  type: ChannelType,
  { pouch, lookup, version, platform }: IdentifyOptions,
  signal: AbortSignal,
): Promise<TokenFound> {
  const { variable } = kindOf(type).token;
  const found = await tokenOf(variable, pouch, lookup, signal);
  if (found === null) return { kind: 'none' };
  const { token, source } = found;
  const config = configOf(type, platform);
  const deps = createSilentDeps(version);
  try {
    const secrets = new Map([[variable as EnvName, token]]);
    await using channel = createMessenger(config, secrets, deps);
    const end = AbortSignal.any([signal, AbortSignal.timeout(identifyMs)]);
    const identity = await channel.identify(end);
    if (identity.kind === 'refused') pouch.delete(variable);
    return { ...identity, source };
  } finally {
    await deps.http.close();
  }
}

async function tokenOf(
  name: string,
  pouch: Pouch,
  lookup: SecretLookup,
  signal: AbortSignal,
): Promise<{ readonly token: string; readonly source: SecretSource | 'pasted' } | null> {
  const pasted = pouch.get(name);
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

/** Which models could be asked now: what runs near, and for which vendors there is a key. */
type SearchOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lookup: SecretLookup;
  /** Of a runtime that speaks the hosted API on this machine, `/v1` included. */
  readonly hostedHere: string;
  /** For one look. */
  readonly lookMs: number;
};

const usualLocal = 'http://127.0.0.1:11434';
const bodyBytesMax = 4 * 1024 * 1024;

export async function lookForModels(
  { env, lookup, hostedHere, lookMs }: SearchOptions,
  signal: AbortSignal,
): Promise<ModelsFound> {
  const local = localBaseUrl(env['OLLAMA_HOST']);
  const http = createHttpClient(createDeadlines());
  await using closed = new AsyncDisposableStack();
  closed.defer(() => http.close());
  const read = (url: string): Promise<unknown> => readJson(http, url, lookMs, signal);
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
 * What `OLLAMA_HOST` means to a client: with or without scheme and port; every interface is this
 * machine. Source: envconfig/config.go of github.com/ollama/ollama.
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

/** What it is as JSON; null: nobody answers there in time, or something else does. */
async function readJson(
  http: HttpClient,
  url: string,
  lookMs: number,
  signal: AbortSignal,
): Promise<unknown> {
  const deadlineAt = later(steadyNow(), lookMs);
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

/** Such a model answers with numbers, and not with words. */
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

/** A real question to a model, as the service would ask it. */
const question = 'Say hello in one short sentence.';
/** Of what a model said, so much is shown. */
const shownMax = 500;

type AskOptions = {
  readonly pouch: Pouch;
  readonly lookup: SecretLookup;
  readonly version: string;
  /** Where the practice model answers; null: it is not asked. */
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

/** The brain that the file would have; a text: why it would have none. */
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
  { pouch, lookup }: AskOptions,
  signal: AbortSignal,
): Promise<Secrets> {
  if (name === null) return new Map();
  const pasted = pouch.get(name);
  if (pasted !== undefined) return new Map([[name, pasted]]);
  const found = (await lookup.find([name], signal)).get(name);
  return found?.kind === 'value' ? new Map([[name, found.value.trim()]]) : new Map();
}

/** For questions that belong to no service, and of which nothing is logged. */
function createSilentDeps(version: string): ServiceDeps {
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const log = createLog({ stream: silence, level: 'error', format: 'text' });
  return createServiceDeps(createEvents({ log, ...systemClock }), version);
}
