/**
 * The trusted configuration. `config/parse.ts` makes it from a file without problems. Names are
 * camelCase, and every default is filled in. Relative paths are still as written:
 * `config/inspect.ts` resolves them. It holds the names of secrets, never their values.
 */
import type { HistoryBounds } from '../domain/conversation.ts';
import { completionsChannel } from '../domain/ids.ts';
import type { RouteCondition } from '../domain/routing.ts';
import {
  channelSynonyms,
  isMessengerType,
  type ChannelConfig,
  type MessengerConfig,
  type WebhookConfig,
} from '../channels/registry.ts';
import type { Budget, Price } from '../domain/spend.ts';
import type { ListenAddress } from './address.ts';
import type { EnvName } from './secret-value.ts';

// These types stand in lower files, so that the kinds of channel can import them without a cycle.

export type Config = {
  readonly channels: readonly ChannelConfig[];
  readonly brains: readonly BrainConfig[];
  /** Without the duplicates that the file may hold. */
  readonly routes: readonly RouteConfig[];
  readonly storage: StorageConfig | null;
  readonly session: SessionConfig | null;
  readonly observability: ObservabilityConfig;
  readonly admin: { readonly tokenEnv: EnvName } | null;
  readonly completions: CompletionsConfig | null;
};

/** The API that offers brains to clients. */
export type CompletionsConfig = {
  readonly bind: ListenAddress;
  readonly tokenEnv: EnvName;
  /** The names of the brains that clients can use, in the order of the file. */
  readonly brains: readonly string[];
  readonly inFlightMax: number;
  /** null: no limit. */
  readonly requestsPerMinute: number | null;
};

export type Mapping = WebhookConfig['mapping'];
export type MessageField = keyof Mapping;

export type AccessConfig = NonNullable<MessengerConfig['access']>;

export type BrainConfig = {
  readonly name: string;
  readonly sensitivity: 'public' | 'private';
  readonly dispatch: 'fanout' | 'sequential';
  readonly policy: PolicyConfig;
  readonly models: readonly ModelConfig[];
  /** The first text of every prompt; null: none. An agent's own prompt follows it. */
  readonly systemPrompt: string | null;
  readonly agent: AgentConfig | null;
  /** How much it may use of models that cost; null: without bounds. */
  readonly budget: Budget | null;
  readonly historyBounds: HistoryBounds;
  readonly deadlineMs: number;
};

export type PolicyConfig = {
  readonly kind: 'priority' | 'consensus';
  /** As written; `rankModels` in config/rank.ts turns it into an order of the models. */
  readonly order: readonly string[];
};

export type ModelConfig = {
  readonly provider: 'local_runtime' | 'hosted_runtime';
  readonly modelId: string;
  readonly locality: 'local' | 'cloud';
  /** Without trailing slashes; the provider's default filled in. */
  readonly baseUrl: string;
  readonly apiKeyEnv: EnvName | null;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly inFlightMax: number;
  /** The most tokens of one answer; null: the provider decides. */
  readonly outputTokensMax: number | null;
  /**
   * The most tokens that one call reads and writes; null: the runtime decides, and svc learns the
   * number from its refusals.
   */
  readonly contextTokens: number | null;
  readonly price: Price | null;
  /** Whether the model sees pictures; null: it depends on the provider. */
  readonly vision: boolean | null;
};

export type ToolName =
  | 'time'
  | 'echo'
  | 'calc'
  | 'read_file'
  | 'http_fetch'
  | 'webhook_call'
  | 'memory_note'
  | McpToolName;

/** `mcp.<server>.<tool>`, as in the file. */
export type McpToolName = `mcp.${string}`;

export type AgentConfig = {
  readonly tools: readonly ToolName[];
  readonly iterationsMax: number;
  readonly systemPrompt: string | null;
  readonly governance: readonly GrantConfig[];
  /** Without duplicates, and on messengers of this configuration only. */
  readonly approvers: readonly ApproverConfig[];
  /** How long a call waits for an approval. */
  readonly approvalMs: number;
  /** What svc sends to approvers in their own chats. */
  readonly approvalText: 'full' | 'notice';
  readonly readFile: { readonly root: string; readonly bytesMax: number } | null;
  readonly httpFetch: {
    readonly allowHosts: readonly string[];
    readonly bytesMax: number;
    readonly redirectsMax: number;
  } | null;
  readonly webhookCall: {
    readonly allowHosts: readonly string[];
    readonly bytesMax: number;
    readonly timeoutMs: number;
  } | null;
  readonly memory: {
    readonly scope: 'conversation' | 'brain';
    readonly notesMax: number;
    readonly noteRunesMax: number;
    readonly budgetRunes: number;
  } | null;
  readonly mcp: readonly McpServerConfig[];
  readonly skillsDir: string | null;
  readonly skillsBodyBudgetRunes: number;
};

export type McpServerConfig = {
  readonly name: string;
  readonly reach:
    | {
        readonly kind: 'command';
        readonly program: string;
        readonly args: readonly string[];
        /** The program's whole environment, except `PATH`. */
        readonly env: Readonly<Record<string, EnvName>>;
      }
    | { readonly kind: 'url'; readonly url: string; readonly tokenEnv: EnvName | null };
  readonly timeoutMs: number;
};

export type GrantConfig = {
  readonly tool: ToolName;
  readonly mode: 'allow' | 'ask' | 'shadow' | 'deny';
  /** null: every channel. */
  readonly channels: readonly string[] | null;
};

export type RouteConfig = {
  /** The name of the channel. */
  readonly channel: string;
  readonly brain: string;
  /** The place of the route in the file, counted from 1. */
  readonly number: number;
  /** Which messages take the route; null: every message that took no route before it. */
  readonly when: RouteCondition | null;
  /** The text of its commands in the platform's menu; null: svc words one. */
  readonly description: string | null;
};

export type StorageConfig = {
  /** As written; null: the default path, unless `urlEnv` names a server. */
  readonly path: string | null;
  readonly retentionDays: number;
  /** The variable with the URL of a PostgreSQL server; null: the ledger is a file. */
  readonly urlEnv: EnvName | null;
};

export type SessionConfig = {
  readonly triggers: readonly string[];
  /** Minutes after local midnight; null: no daily expiry. */
  readonly dailyAtMinute: number | null;
  readonly idleMinutes: number;
  readonly recallMax: number;
};

export type ObservabilityConfig = {
  readonly enabled: boolean;
  readonly address: ListenAddress;
  readonly allowedHosts: readonly string[];
};

/** Secret values by the names in a config. They are never part of `Config` and never printed. */
export type Secrets = ReadonlyMap<EnvName, string>;

/** A person who may decide on calls. The ledger keeps `name`: the channel's name, `:`, the id. */
export type ApproverConfig = {
  readonly channel: string;
  readonly user: string;
  readonly name: string;
};

/**
 * `rules-approvers.ts` says whether the channel is configured, and its user ids are digits.
 * @returns null when the text names no possible channel, or no possible user
 */
export function parseApprover(text: string): ApproverConfig | null {
  const [, word = '', user = ''] = /^([^:]+):(\S{1,100})$/.exec(text) ?? [];
  const channel = registeredName(word);
  if (!isChannelName(channel)) return null;
  if (isMessengerType(channel) && !/^\d{1,32}$/.test(user)) return null;
  return { channel, user, name: `${channel}:${user}` };
}

/** The channel's registered name as a file may write it: a synonym of a type becomes the type. */
export function registeredName(written: string): string {
  return Object.hasOwn(channelSynonyms, written) ? channelSynonyms[written]! : written;
}

/** Whether a channel can have this name. */
export function isChannelName(text: string): boolean {
  return /^[a-z][a-z0-9_-]{0,31}$/.test(text);
}

/**
 * The channel whose grants hold for a trial of a brain: that of its first route, or the completions
 * API; null: nothing leads to the brain.
 */
export function channelOfBrain(
  brain: string,
  { routes, completions }: Pick<Config, 'routes' | 'completions'>,
): string | null {
  const routed = routes.find((route) => route.brain === brain)?.channel;
  return routed ?? (completions?.brains.includes(brain) === true ? completionsChannel : null);
}
