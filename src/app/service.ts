/**
 * The composition root: the only file, beside storage.ts for the ledger, that names concrete
 * classes. It makes the parts that live as long as the process. It makes a running configuration of
 * a configuration and its secrets.
 */
import { createAgent } from '../brains/agent/agent.ts';
import { approvalRulesOf } from '../brains/agent/call-approvals.ts';
import { type AgentOptions } from '../brains/agent/agent-options.ts';
import { DryRunContext, type DryRunDeps } from '../brains/dry-run-context.ts';
import { createResponder, type ResponderOptions } from '../brains/responder.ts';
import type { Brain, Turn } from '../brains/brain.ts';
import type { SkillsOfBrains } from '../brains/skills.ts';
import type { Channel, Messenger } from '../channels/channel.ts';
import {
  isMessenger,
  type ChannelType,
  type ConfigOf,
  type MessengerType,
  type ChannelConfig,
  type MessengerConfig,
} from '../channels/registry.ts';
import { createTelegramChannel } from '../channels/telegram/telegram.ts';
import { createDiscordChannel } from '../channels/discord/discord.ts';
import { createCompletionsChannel } from '../channels/completions/completions.ts';
import { OpenRequests } from '../channels/completions/open-requests.ts';
import { createWebhookChannel, type BearerChecks } from '../channels/webhook/webhook.ts';
import type {
  AgentConfig,
  BrainConfig,
  Config,
  ModelConfig,
  PolicyConfig,
  Secrets,
} from '../config/config.ts';
import type { EnvName } from '../config/secret-value.ts';
import { rankModels } from '../config/rank.ts';
import type { Events } from '../domain/event.ts';
import { completionsChannel } from '../domain/ids.ts';
import type { NoteScope } from '../domain/note.ts';
import { openAccess } from '../pipeline/gate.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { createDeadlines, type Deadlines } from '../lib/deadlines.ts';
import { createHttpClient, type HttpClient } from '../lib/http-client.ts';
import { nodeCrypto } from '../lib/node-http.ts';
import {
  connectionsWithin,
  openFilesMax,
  reportFileShortage,
  createListeners,
  listenLimits,
  type Listeners,
} from '../lib/listener.ts';
import { resolveName } from '../lib/own-address.ts';
import { stopOf } from '../lib/stop.ts';
import { buildModel, CallBounds, type ModelDeps } from '../brains/models/build-model.ts';
import { PromptRecords } from '../brains/models/prompt-records.ts';
import { RelayDetections } from '../brains/models/relay-detection.ts';
import type { Model } from '../brains/models/model.ts';
import { retryDelayMs } from '../brains/models/provider-call.ts';
import { RunningConfig, type RoutedChannel, type RoutedModel } from './running-config.ts';
import { createConsensus } from '../brains/policies/consensus.ts';
import type { Pictures } from '../pipeline/attachments/picture/picture.ts';
import { createPictures } from '../pipeline/attachments/picture/remaker.ts';
import { createSpeech } from '../pipeline/attachments/speech/openai-speech.ts';
import type { Policy } from '../brains/policies/policy.ts';
import { createPriority } from '../brains/policies/priority.ts';
import { createToolbox } from '../brains/tools/governance.ts';
import type { McpSource } from '../brains/tools/mcp/mcp.ts';
import { McpInUse, McpServers } from '../brains/tools/mcp/servers.ts';
import { createTools } from '../brains/tools/registry.ts';
import { OwnPlaces } from '../brains/tools/caged-request.ts';

/**
 * Parts that outlive every running configuration, for all code that makes requests, waits, or
 * reports.
 */
export type ServiceDeps = Clock & {
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
  readonly listeners: Listeners;
  /** Checks of the bearers that the webhook's senders present. */
  readonly bearerChecks: BearerChecks;
  /** The requests of API clients that wait for an answer. */
  readonly openRequests: OpenRequests;
  readonly events: Events;
  /** What running configurations learnt about models that a runtime may forward. */
  readonly relayDetections: RelayDetections;
  readonly bounds: CallBounds;
  readonly prompts: PromptRecords;
  /** Addresses that tools reach only if a list of hosts names the port. */
  readonly reserved: OwnPlaces;
  readonly random: () => number;
  /** The key of the marks around agents' data, which nobody must guess. Made at first use. */
  readonly markKey: () => Uint8Array;
  readonly version: string;
  /** The SQLite file that this process has open, or is about to open; null: none. */
  readonly heldDatabase: string | null;
  /** The MCP servers in use. A new running configuration has its own. */
  readonly mcp: McpInUse;
  readonly pictures: Pictures;
  /** The absolute path of `svc.mcp.json` beside the configuration; null: there is none. */
  readonly pinsFile: string | null;
};

/** The dependencies that a brain and its models need. */
export type BrainDeps = Omit<
  ServiceDeps,
  'bearerChecks' | 'openRequests' | 'events' | 'listeners' | 'mcp'
> &
  ModelDeps & { readonly mcp: McpSource };

/** For a trial: its calls count in no metric or health, and hold back no call of the service. */
export function createTrialDeps(deps: ServiceDeps): BrainDeps {
  const faulted = (fault: { where: string; error: unknown }): void => deps.events.faulted(fault);
  const events = { modelAsked() {}, modelAnswered() {}, faulted };
  return { ...deps, events, bounds: new CallBounds() };
}

/** Builds a model, also a cloud model of a private brain. */
export function createModel(config: ModelConfig, secrets: Secrets, deps: BrainDeps): Model {
  return buildModel(config, secretOf(secrets, config.apiKeyEnv), deps);
}

/** Reads the folders of skills. Call it before each running configuration is made. */
export async function readSkills(brains: readonly BrainConfig[]): Promise<SkillsOfBrains> {
  return (await import('../brains/skills.ts')).readSkillsOf(brains);
}

const policies: Readonly<Record<PolicyConfig['kind'], () => Policy>> = {
  priority: createPriority,
  consensus: createConsensus,
};

/**
 * @param models in the configured order
 * @param skills text for an agent's prompt; null: none
 */
export function createBrain(
  config: BrainConfig,
  secrets: Secrets,
  deps: BrainDeps,
  models = config.models.map((model) => createModel(model, secrets, deps)),
  skills: string | null = null,
): Brain {
  const ranked = rankModels(config.policy.order, config.models);
  const members = config.models.map(({ retriesMax }, index) => ({
    model: models[index]!,
    rank: ranked.indexOf(index),
    retriesMax,
  }));
  const { policy, models: _, agent, ...own } = config;
  const shared: Omit<ResponderOptions, 'policy'> = {
    ...own,
    members,
    deadlines: deps.deadlines,
    now: deps.now,
    steady: deps.steady,
    retryDelayMs: (failure, attempt) =>
      retryDelayMs(failure, attempt, { retriesMax: Infinity, random: deps.random }),
    onFault: (error) => deps.events.faulted({ where: `brain ${own.name}`, error }),
  };
  if (agent !== null) return createAgent(agentOptions(agent, shared, deps, skills));
  return createResponder({ ...shared, policy: policies[policy.kind]() });
}

/** An agent asks one model after the other, whatever the brain's policy and dispatch. */
function agentOptions(
  config: AgentConfig,
  shared: Omit<ResponderOptions, 'policy'>,
  deps: BrainDeps,
  skills: string | null,
): AgentOptions {
  const { name, now, steady, onFault } = shared;
  const { memory, governance: grants } = config;
  const tools = createTools(config, { ...deps, brain: name, resolve: resolveName });
  const scope: NoteScope =
    memory?.scope === 'brain' ? { kind: 'brain', brain: name } : { kind: 'conversation' };
  return {
    ...shared,
    policy: createPriority(),
    toolbox: createToolbox({ tools, grants, now, steady, onFault }),
    stepsMax: config.iterationsMax,
    operatorPrompt: config.systemPrompt,
    skills,
    notes: memory && { scope, notesMax: memory.notesMax, budgetRunes: memory.budgetRunes },
    asking: approvalRulesOf(config),
    mark: (turn) => markOf(turn, name, deps.markKey()),
  };
}

/**
 * The mark of one session of one brain, or of all requests of one API client. Another process makes
 * another mark.
 */
function markOf({ message, session = 0, given }: Turn, brain: string, key: Uint8Array): string {
  const { channel, conversation, sender } = message;
  const whose = given === undefined ? conversation : sender.id;
  const of = JSON.stringify([channel, whose, brain, session]);
  const hex = nodeCrypto().createHmac('sha256', key).update(of).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}`;
}

/** The context of a trial, in which a brain changes nothing. See `DryRunContext`. */
export function createDryRunContext(signal: AbortSignal, ...parts: DryRunDeps): DryRunContext {
  return new DryRunContext(stopOf(signal), ...parts);
}

type Make<Type extends ChannelType> = (
  config: ConfigOf<Type>,
  /** The value of the variable that `token_env` names. */
  token: string,
  deps: ServiceDeps,
  secrets: Secrets,
) => Type extends MessengerType ? Messenger : Channel;

/** The maker of each channel type. A channel loads nothing before it opens. */
const makers: { readonly [Type in ChannelType]: Make<Type> } = {
  messenger_a: (config, token, deps) => createTelegramChannel({ ...deps, config, token }),
  messenger_b: (config, token, deps) => createDiscordChannel({ ...deps, config, token }),
  webhook: (config, secret, deps, secrets) => {
    const outboundSecret = secretOf(secrets, config.outboundTokenEnv);
    const signingKey = secretOf(secrets, config.outboundSigningEnv);
    return createWebhookChannel({ ...deps, config, secret, outboundSecret, signingKey });
  },
};

function createChannel(config: ChannelConfig, secrets: Secrets, deps: ServiceDeps): Channel {
  const make = makers[config.type] as Make<ChannelType>;
  return make(config, secretOf(secrets, config.tokenEnv) ?? '', deps, secrets);
}

/** How to read attachments on that channel. Only messengers fetch attachments. */
export function readingOf(
  config: ChannelConfig,
  { http, pictures }: Pick<ServiceDeps, 'http' | 'pictures'>,
): NonNullable<RoutedChannel['reading']> {
  if (!isMessenger(config)) return {};
  const { speech, gatherMs } = config;
  return {
    pictures,
    gatherMs,
    ...(speech !== null && { speech: createSpeech({ ...speech, http }) }),
  };
}

/** A messenger that can say whose token it has, without being opened. */
export function createMessenger(
  config: MessengerConfig,
  secrets: Secrets,
  deps: ServiceDeps,
): Messenger {
  return createChannel(config, secrets, deps) as Messenger;
}

/** The addresses of all servers that a configuration names: models, MCP servers, speech. */
function serversOf({ brains, channels }: Config): readonly string[] {
  const ofBrains = brains.flatMap(({ models, agent }) => [
    ...models.map(({ baseUrl }) => baseUrl),
    ...(agent?.mcp ?? []).flatMap(({ reach }) => (reach.kind === 'url' ? [reach.url] : [])),
  ]);
  const speech = channels.filter(isMessenger).flatMap((one) => one.speech?.baseUrl ?? []);
  return [...ofBrains, ...speech];
}

/**
 * Makes the running configuration of one text: the brains that have a route or stand behind the
 * completions API, that API, and each routed channel.
 * @param skills texts by the brain's name
 */
export function createRunningConfig(
  text: string,
  config: Config,
  secrets: Secrets,
  deps: ServiceDeps,
  skills: ReadonlyMap<string, string>,
): RunningConfig {
  const offered = config.completions?.brains ?? [];
  const routed = config.brains.filter(
    ({ name }) => offered.includes(name) || config.routes.some(({ brain }) => brain === name),
  );
  const mcp = new McpServers(routed, secrets, deps);
  const brainDeps = { ...deps, reserved: deps.reserved.withServers(serversOf(config)), mcp };
  const brains = new Map<string, Brain>();
  const channels: RoutedChannel[] = [];
  const planned: RoutedModel[] = [];
  for (const brainConfig of routed) {
    const { name, sensitivity } = brainConfig;
    const asker = { ...deps, brain: name };
    const models = brainConfig.models.map((model) => createModel(model, secrets, asker));
    brains.set(name, createBrain(brainConfig, secrets, brainDeps, models, skills.get(name)));
    for (const [index, model] of models.entries()) {
      planned.push({ brain: name, sensitivity, config: brainConfig.models[index]!, model });
    }
  }
  for (const channelConfig of config.channels) {
    const { name, type } = channelConfig;
    const own = config.routes.filter(({ channel }) => channel === name);
    if (own.length === 0) continue;
    channels.push({
      name,
      type,
      channel: createChannel(channelConfig, secrets, deps),
      routes: own.map(({ brain, number, when, description }) => {
        return { number, brain: brains.get(brain)!, when, description };
      }),
      session: config.session,
      access: isMessenger(channelConfig) ? (channelConfig.access ?? openAccess) : null,
      reading: readingOf(channelConfig, deps),
    });
  }
  const api = createApi(config, secrets, deps, brains);
  if (api !== null) channels.push(api);
  return new RunningConfig(text, channels, brains, planned, mcp);
}

/** The completions API. Each request has its route already. Null: it is not configured. */
function createApi(
  { completions, observability }: Config,
  secrets: Secrets,
  deps: ServiceDeps,
  brains: ReadonlyMap<string, Brain>,
): RoutedChannel | null {
  if (completions === null) return null;
  const offered = completions.brains.map((name) => brains.get(name)!);
  const channel = createCompletionsChannel({
    ...deps,
    config: completions,
    token: secretOf(secrets, completions.tokenEnv) ?? '',
    offered: new Map(offered.map(({ name, agent }) => [name, { isAgent: agent !== null }])),
    allowedHosts: () => observability.allowedHosts,
  });
  return {
    name: completionsChannel,
    type: 'completions',
    channel,
    routes: offered.map((brain) => ({ number: 0, brain, when: null, description: null })),
    session: null,
    access: null,
    reading: { pictures: deps.pictures },
  };
}

/**
 * Creates what a process needs once.
 * @param heldDatabase the SQLite file that it has open, or is about to open; null: none
 * @param pinsFile `svc.mcp.json` beside the configuration; null: there is none
 * @param ownHttp false: all HTTP requests go through undici (lib/http-client.ts)
 */
export function createServiceDeps(
  events: Events,
  version: string,
  heldDatabase: string | null = null,
  ownHttp = true,
  { now, steady }: Clock = systemClock,
  pinsFile: string | null = null,
): ServiceDeps {
  const deadlines = createDeadlines(steady);
  const most = connectionsWithin(openFilesMax() ?? Infinity);
  const connectionsMax = Math.min(listenLimits.connectionsMax, most);
  const dropped = (): void => events.ranShort({ of: 'connections' });
  const fault = (error: unknown): void => events.faulted({ where: 'listener', error });
  const listeners = createListeners({ connectionsMax }, { deadlines, steady, dropped, fault });
  const http = createHttpClient(deadlines, { plain: ownHttp });
  let markKey: Uint8Array | null = null;
  return {
    now,
    steady,
    http: reportFileShortage(http, () => events.ranShort({ of: 'files' })),
    deadlines,
    listeners,
    bearerChecks: new Map(),
    openRequests: new OpenRequests(),
    events,
    relayDetections: new RelayDetections(),
    bounds: new CallBounds(),
    prompts: new PromptRecords(),
    reserved: new OwnPlaces(listeners, resolveName),
    random: Math.random,
    markKey: () => (markKey ??= crypto.getRandomValues(new Uint8Array(32))),
    version,
    heldDatabase,
    mcp: new McpInUse(),
    pictures: createPictures(deadlines),
    pinsFile,
  };
}

function secretOf(secrets: Secrets, name: EnvName | null): string | null {
  return name === null ? null : (secrets.get(name) ?? null);
}
