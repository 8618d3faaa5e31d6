/**
 * The only place where the file's snake_case becomes the program's camelCase. It gets a document
 * without problems, and decides nothing. It only fills in defaults that depend on another field.
 */
import { hourMs, secondMs } from '../lib/durations.ts';
import { historyBounds } from '../domain/conversation.ts';
import { isMessenger, kindOf, type ChannelConfig } from '../channels/registry.ts';
import { amountOf } from '../domain/money.ts';
import type { Budget, Price } from '../domain/spend.ts';
import { addressOf, withoutSlashes } from './address.ts';
import {
  parseApprover,
  type ApproverConfig,
  type AgentConfig,
  type BrainConfig,
  type CompletionsConfig,
  type Config,
  type McpServerConfig,
  type ModelConfig,
  type RouteConfig,
} from './config.ts';
import { type EnvName } from './secret-value.ts';
import type { Document } from './schema.ts';

type ChannelDocument = Document['channels'][number];
type BrainDocument = Document['brains'][number];
type ModelDocument = BrainDocument['models'][number];
type AgentDocument = NonNullable<BrainDocument['agent']>;

const providerDefaults = {
  local_runtime: { baseUrl: 'http://127.0.0.1:11434', timeoutSeconds: 300 },
  hosted_runtime: { baseUrl: 'https://api.openai.com/v1', timeoutSeconds: 120 },
} as const;

/**
 * @param document a document without problems
 * @param given whether the file itself holds a value at this path
 */
export function parseDocument(document: Document, given: (path: string) => boolean): Config {
  const channels = document.channels.map((channel, index) =>
    parseChannel(channel, `channels[${index}]`, given),
  );
  return {
    channels,
    brains: document.brains.map((brain) => parseBrain(brain, channels)),
    routes: parseRoutes(document.routes),
    storage:
      document.storage === null
        ? null
        : {
            path: document.storage.path,
            retentionDays: document.storage.retention_days,
            urlEnv: envName(document.storage.url_env),
          },
    session:
      document.session === null
        ? null
        : {
            triggers: [...new Set(document.session.triggers)],
            dailyAtMinute: minuteOf(document.session.daily_at),
            idleMinutes: document.session.idle_min,
            recallMax: document.session.recall_max,
          },
    observability: {
      enabled: document.observability.enabled,
      address: addressOf(document.observability.addr, given('observability.addr')),
      allowedHosts: document.observability.allowed_hosts,
    },
    admin: document.admin === null ? null : { tokenEnv: document.admin.token_env as EnvName },
    completions: parseCompletions(document, given('completions.bind')),
  };
}

function parseCompletions(
  { completions, brains }: Document,
  isBindGiven: boolean,
): CompletionsConfig | null {
  if (completions === null) return null;
  const all = brains.map(({ name }) => name);
  const offered = completions.brains;
  return {
    bind: addressOf(completions.bind, isBindGiven),
    tokenEnv: completions.token_env as EnvName,
    brains: offered === null ? all : all.filter((name) => offered.includes(name)),
    inFlightMax: completions.max_in_flight,
    requestsPerMinute: completions.requests_per_minute,
  };
}

/** The provider's URL if the file has none. */
export function defaultBaseUrl(provider: ModelConfig['provider']): string {
  return providerDefaults[provider].baseUrl;
}

function parseChannel(
  channel: ChannelDocument,
  path: string,
  given: (path: string) => boolean,
): ChannelConfig {
  const parsed = kindOf(channel.type).parse(channel, (field) => given(`${path}.${field}`));
  // The synonym of a type has become the type; a name that says the own type is no other name.
  return { ...parsed, name: channel.name ?? channel.type };
}

function parseBrain(brain: BrainDocument, channels: readonly ChannelConfig[]): BrainConfig {
  return {
    name: brain.name,
    sensitivity: brain.sensitivity,
    dispatch: brain.dispatch,
    policy: brain.policy,
    models: brain.models.map(parseModel),
    systemPrompt: brain.system_prompt,
    agent: brain.agent && parseAgent(brain.agent, channels),
    budget: parseBudget(brain.budget),
    historyBounds: brain.history ?? historyBounds,
    deadlineMs: brain.deadline_seconds * secondMs,
  };
}

function parseModel(model: ModelDocument): ModelConfig {
  const defaults = providerDefaults[model.provider];
  return {
    provider: model.provider,
    modelId: model.model_id,
    locality: model.locality,
    baseUrl: withoutSlashes(model.base_url) ?? defaults.baseUrl,
    apiKeyEnv: envName(model.api_key_env),
    timeoutMs: (model.timeout_seconds ?? defaults.timeoutSeconds) * secondMs,
    retriesMax: model.max_retries,
    inFlightMax: model.max_in_flight,
    outputTokensMax: model.max_output_tokens,
    contextTokens: model.context_tokens,
    price: parsePrice(model.price),
    vision: model.vision,
  };
}

function parsePrice(price: ModelDocument['price']): Price | null {
  if (price === null) return null;
  const { input, output, cached_input: cached } = price;
  const fromCache = cached === null ? {} : { cachedInput: amountOf(cached) };
  return { input: amountOf(input), output: amountOf(output), ...fromCache };
}

function parseBudget(budget: BrainDocument['budget']): Budget | null {
  if (budget === null) return null;
  const { cost_per_day: cost } = budget;
  return {
    tokensPerTurn: budget.tokens_per_turn,
    tokensPerDay: budget.tokens_per_day,
    costPerDay: cost === null ? null : amountOf(cost),
    tokensPerSenderPerDay: budget.tokens_per_sender_per_day,
  };
}

function parseAgent(agent: AgentDocument, channels: readonly ChannelConfig[]): AgentConfig {
  const { read_file: file, http_fetch: fetch, webhook_call: call, memory } = agent;
  return {
    tools: [...new Set(agent.tools)],
    iterationsMax: agent.max_iterations,
    systemPrompt: agent.system_prompt,
    governance: agent.governance,
    approvers: parseApprovers(agent.approvers, channels),
    approvalMs: agent.approval_hours * hourMs,
    approvalText: agent.approval_text,
    readFile: file === null ? null : { root: file.root, bytesMax: file.max_bytes },
    httpFetch:
      fetch === null
        ? null
        : {
            allowHosts: fetch.allow_hosts,
            bytesMax: fetch.max_bytes,
            redirectsMax: fetch.max_redirects,
          },
    webhookCall:
      call === null
        ? null
        : {
            allowHosts: call.allow_hosts,
            bytesMax: call.max_bytes,
            timeoutMs: call.timeout_seconds * secondMs,
          },
    memory:
      memory === null
        ? null
        : {
            scope: memory.scope,
            notesMax: memory.max_notes,
            noteRunesMax: memory.max_note_runes,
            budgetRunes: memory.budget_runes,
          },
    mcp: agent.mcp.map(parseServer),
    skillsDir: agent.skills_dir,
    skillsBodyBudgetRunes: agent.skills_body_budget,
  };
}

/** On a channel that is no messenger, anyone with the channel's secret can claim any name. */
function parseApprovers(
  texts: readonly string[],
  channels: readonly ChannelConfig[],
): readonly ApproverConfig[] {
  const messengers = new Set(channels.filter(isMessenger).map(({ name }) => name));
  const approvers = texts.map(parseApprover).filter((one) => one && messengers.has(one.channel));
  return [...new Map(approvers.map((one) => [one!.name, one!])).values()];
}

/** @param server has either a command or a url */
function parseServer(server: AgentDocument['mcp'][number]): McpServerConfig {
  const { name, command, url, token_env: token, env, timeout_seconds: seconds } = server;
  const [program = '', ...args] = command ?? [];
  return {
    name,
    reach:
      url === null
        ? { kind: 'command', program, args, env: env as Readonly<Record<string, EnvName>> }
        : { kind: 'url', url, tokenEnv: envName(token) },
    timeoutMs: seconds * secondMs,
  };
}

/** Without routes that no message reaches: the file may hold one without `when` twice. */
function parseRoutes(routes: Document['routes']): readonly RouteConfig[] {
  const closed = new Set<string>();
  return routes.flatMap(({ channel, brain, when, description }, index) => {
    if (closed.has(channel)) return [];
    const condition = hasConditions(when) ? when : null;
    if (condition === null) closed.add(channel);
    // A platform may refuse a whole menu for one blank description.
    const shown = description?.trim() || null;
    return [{ channel, brain, number: index + 1, when: condition, description: shown }];
  });
}

/** `{}` is the same as no condition. An unread key counts as a condition. */
export function hasConditions<When extends object>(when: When | null): when is When {
  return when !== null && Object.values(when).some((entries) => entries !== null);
}

function envName(text: string | null): EnvName | null {
  return text as EnvName | null;
}

/** Minutes after midnight of `HH:MM`. */
function minuteOf(time: string | null): number | null {
  return time === null ? null : Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}
