/**
 * The schema of the configuration: the one definition of every field that a file may hold. Names
 * and structure are a stable contract. A new field is always optional, and marked `added`.
 */
import type { Draft, ObjectField, Whole } from './field.ts';
import { channel, channelNameField } from './schema-channel.ts';
import { historyBounds, historyBoundsMax } from '../domain/conversation.ts';
import { agent } from './schema-agent.ts';

const providerNames = ['local_runtime', 'hosted_runtime'] as const;
export const providerSynonyms = { ollama: 'local_runtime', openai: 'hosted_runtime' } as const;

const policy = {
  type: 'object',
  description: 'How svc picks the reply among the answers of the models.',
  required: true,
  fields: {
    kind: {
      type: 'choice',
      description:
        '`priority`: the best-ranked answer. `consensus`: the answer of more than half of the ' +
        'models that answered, and of two at least; otherwise there is no consensus.',
      required: true,
      names: ['priority', 'consensus'],
    },
    order: {
      type: 'list',
      description:
        'Ranks, best first: a provider, a `model_id` or `provider/model_id`. Others come after.',
      items: { type: 'text', description: 'A provider, a model id, or both with a slash.' },
      default: [],
    },
  },
} as const satisfies ObjectField;

const amountMax = 1_000_000_000;

const price = {
  type: 'object',
  description:
    'The price of a million tokens, in a currency of your choice. Budgets hold for a model with ' +
    'a price, even for a local one.',
  added: true,
  fields: {
    input: {
      type: 'decimal',
      description: 'Price of a million tokens that the model reads.',
      required: true,
      minimum: 0,
      maximum: amountMax,
    },
    output: {
      type: 'decimal',
      description: 'Price of a million tokens that the model writes.',
      required: true,
      minimum: 0,
      maximum: amountMax,
    },
    cached_input: {
      type: 'decimal',
      description:
        "Price of a million read tokens that came from the provider's cache. It counts if the " +
        'provider reports how many came from there.',
      minimum: 0,
      maximum: amountMax,
      defaultNote: 'the price of `input`',
      added: true,
    },
  },
} as const satisfies ObjectField;

const model = {
  type: 'object',
  description: 'One model of one provider.',
  fields: {
    provider: {
      type: 'choice',
      description:
        '`local_runtime` speaks the Ollama API, `hosted_runtime` OpenAI chat completions.',
      required: true,
      names: providerNames,
      synonyms: providerSynonyms,
    },
    model_id: {
      type: 'text',
      description: "The provider's name of the model.",
      required: true,
    },
    locality: {
      type: 'choice',
      description: 'Where the model runs. You declare it; private brains ask only `local` models.',
      required: true,
      names: ['local', 'cloud'],
    },
    base_url: {
      type: 'text',
      description: 'The address of the provider.',
      format: 'base_url',
      defaultNote:
        '`http://127.0.0.1:11434` for `local_runtime`, `https://api.openai.com/v1` for `hosted_runtime`',
    },
    api_key_env: {
      type: 'text',
      description:
        'Environment variable with the API key. A `hosted_runtime` that is `cloud` needs it.',
      format: 'env',
    },
    timeout_seconds: {
      type: 'integer',
      description: 'Seconds that one answer may take, with the time to load the model.',
      minimum: 1,
      maximum: 3600,
      above: 'clamped',
      defaultNote: '300 for `local_runtime`, 120 for `hosted_runtime`',
      added: true,
    },
    max_retries: {
      type: 'integer',
      description: 'Retries after a temporary failure. 0: none.',
      minimum: 0,
      maximum: 10,
      above: 'clamped',
      default: 2,
      added: true,
    },
    max_in_flight: {
      type: 'integer',
      description:
        'Calls to this model at one time, of all brains. The lowest number of any brain holds.',
      minimum: 1,
      maximum: 10_000,
      above: 'clamped',
      default: 1000,
      added: true,
    },
    max_output_tokens: {
      type: 'integer',
      description:
        'Tokens that one answer may have. svc sends it to the provider. A budget needs it.',
      minimum: 1,
      maximum: 1_000_000,
      defaultNote: "the provider's own limit",
      added: true,
    },
    context_tokens: {
      type: 'integer',
      description:
        'Tokens that the model reads and writes in one call. svc leaves out the oldest history ' +
        'beyond it. svc sends it to Ollama as `num_ctx`, and not to a `hosted_runtime`.',
      minimum: 512,
      maximum: 10_000_000,
      defaultNote: 'the runtime decides',
      added: true,
    },
    price,
    vision: {
      type: 'boolean',
      description:
        'Whether the model sees pictures. Absent: as its provider says. If the provider says ' +
        'nothing, the model gets none.',
      added: true,
    },
  },
  conditions: [
    {
      when: { provider: 'hosted_runtime', locality: 'cloud' },
      requires: ['api_key_env'],
    },
  ],
} as const satisfies ObjectField;

const tokens = { type: 'integer', minimum: 1, added: true } as const;

const budget = {
  type: 'object',
  description:
    'Limits for models that cost: cloud models, and models with a price. Beyond them, models ' +
    'that cost nothing still answer. Days are those of the local time zone.',
  added: true,
  fields: {
    tokens_per_turn: {
      ...tokens,
      description: 'Tokens, read and written, for one message, with all models, steps and retries.',
    },
    tokens_per_day: {
      ...tokens,
      description: 'Tokens, read and written, in one day.',
    },
    cost_per_day: {
      type: 'decimal',
      description: 'Cost of one day, in the currency of the prices.',
      minimum: 0,
      maximum: amountMax,
      added: true,
    },
    tokens_per_sender_per_day: {
      ...tokens,
      description: 'Tokens, read and written, in one day for the messages of one person.',
    },
  },
} as const satisfies ObjectField;

const history = {
  type: 'object',
  description:
    'How much of a conversation the models see. Beyond a limit, svc drops the older half at ' +
    'once. In between, a model can use its prompt cache.',
  added: true,
  fields: {
    turns: {
      type: 'integer',
      description: 'Messages with their replies. 0: the models see only the newest message.',
      minimum: 0,
      maximum: historyBoundsMax.turns,
      default: historyBounds.turns,
    },
    characters: {
      type: 'integer',
      description: 'Characters of these messages and replies together.',
      minimum: 0,
      maximum: historyBoundsMax.characters,
      default: historyBounds.characters,
    },
  },
} as const satisfies ObjectField;

export const brain = {
  type: 'object',
  description: 'Answers messages: some models and a policy, or an agent with tools.',
  fields: {
    name: {
      type: 'text',
      description: 'A unique name, which routes use.',
      required: true,
    },
    sensitivity: {
      type: 'choice',
      description: '`private`: svc sends nothing to cloud models.',
      required: true,
      names: ['public', 'private'],
    },
    dispatch: {
      type: 'choice',
      description:
        '`fanout` asks all models at once; `sequential` asks in their order until one answers.',
      names: ['fanout', 'sequential'],
      default: 'fanout',
    },
    policy,
    models: {
      type: 'list',
      description: 'The models that this brain may ask.',
      required: true,
      itemsMin: 1,
      items: model,
    },
    system_prompt: {
      type: 'text',
      description:
        'The first text for every model of this brain: who it is, and how it should answer. The ' +
        'prompts of an `agent` follow. Absent: no text.',
      added: true,
    },
    agent,
    budget,
    history,
    deadline_seconds: {
      type: 'integer',
      description:
        'Seconds that a turn may take in all. To write down a voice note, it may take half of ' +
        'them.',
      minimum: 1,
      maximum: 3600,
      above: 'clamped',
      default: 600,
      added: true,
    },
  },
} as const satisfies ObjectField;

const ids = {
  type: 'list',
  items: { type: 'text', numbers: true, description: 'An id, as a text or a number.' },
  itemsMin: 1,
} as const;

const condition = {
  type: 'object',
  description:
    'Which messages of the channel take this route. All given keys must hold; within a key, one ' +
    'entry is enough. Absent: every message that no route before it takes.',
  added: true,
  fields: {
    senders: {
      ...ids,
      description: 'Ids of people on the platform; on a webhook the ids of senders.',
    },
    chats: {
      ...ids,
      description:
        'Ids of chats or channels; on a webhook of conversations. A group that became a ' +
        'supergroup still fits by its former id.',
    },
    topics: { ...ids, description: 'Numbers of topics in a group, or ids of threads.' },
    commands: {
      type: 'list',
      description: 'Commands that begin the text. The model is not shown the command.',
      items: { type: 'text', description: 'A command, such as `/code`.', format: 'route_command' },
      itemsMin: 1,
    },
  },
} as const satisfies ObjectField;

const route = {
  type: 'object',
  description:
    'Gives messages of a channel to a brain. svc tries the routes of a channel in order and ' +
    'takes the first that fits.',
  fields: {
    channel: {
      ...channelNameField,
      description: 'The name of a configured channel: its `name`, or else its `type`.',
      required: true,
    },
    brain: { type: 'text', description: 'The `name` of a configured brain.', required: true },
    when: condition,
    description: {
      type: 'text',
      description:
        "The text of the route's commands in the platform's menu, 100 characters at most. It is " +
        'also the answer to a command without text.',
      added: true,
    },
  },
} as const satisfies ObjectField;

const storage = {
  type: 'object',
  description: 'Keeps conversations and unfinished work on disk. Absent: only in memory.',
  lifetime: 'process',
  fields: {
    path: {
      type: 'text',
      description:
        "The SQLite file, relative to the config file's folder. Not together with `url_env`.",
      defaultNote: "`svc/svc.db` in the user's configuration folder",
      lifetime: 'process',
    },
    retention_days: {
      type: 'integer',
      description:
        'Days that svc keeps settled messages, replies and dead letters. 0: for ever. The memory ' +
        'of a conversation stays.',
      minimum: 0,
      default: 30,
      added: true,
      lifetime: 'process',
    },
    url_env: {
      type: 'text',
      description:
        'Environment variable with the URL of a PostgreSQL server (14 or newer), instead of ' +
        '`path`: `postgres://user:password@host:5432/database`.',
      format: 'env',
      added: true,
      lifetime: 'process',
    },
  },
} as const satisfies ObjectField;

const session = {
  type: 'object',
  description: 'Splits conversations into sessions. Needs `storage`. Absent: no sessions.',
  fields: {
    triggers: {
      type: 'list',
      description: 'First words of a message that begin a new session. Empty list: none.',
      items: { type: 'text', description: 'One word, such as `/new`.' },
      default: ['/new', '/reset'],
    },
    daily_at: {
      type: 'text',
      description: 'Local time `HH:MM` at which sessions expire each day. Empty: never.',
      format: 'time',
    },
    idle_min: {
      type: 'integer',
      description: 'Minutes of silence after which a session expires. 0: never.',
      minimum: 0,
      default: 0,
    },
    recall_max: {
      type: 'integer',
      description: 'Turns that `/recall` may bring back, up to 50. 0 switches it off.',
      minimum: 0,
      maximum: 50,
      default: 0,
    },
  },
} as const satisfies ObjectField;

const observability = {
  type: 'object',
  description: 'The admin server: health, metrics, live view. On by default.',
  default: 'empty',
  fields: {
    enabled: {
      type: 'boolean',
      description: 'Whether the admin server runs.',
      default: true,
      lifetime: 'process',
    },
    addr: {
      type: 'text',
      description:
        'Address to listen on: `host:port`, `:port` or `[::1]:port`. Beyond loopback: a warning.',
      format: 'address',
      default: '127.0.0.1:2112',
      lifetime: 'process',
    },
    allowed_hosts: {
      type: 'list',
      description:
        'Further host names by which clients reach the admin server and `completions` on loopback.',
      items: { type: 'text', description: 'A host name without a port.' },
      default: [],
      added: true,
    },
  },
} as const satisfies ObjectField;

/** The worker pool of one channel has so many slots. */
const requestsMax = 1_000;

const completions = {
  type: 'object',
  description:
    'The completions API. It offers brains as models to programs that speak the OpenAI API. ' +
    'Absent: svc offers none.',
  added: true,
  fields: {
    bind: {
      type: 'text',
      description:
        'Address to listen on: `host:port`, `:port` or `[::1]:port`. Beyond loopback: a warning.',
      format: 'address',
      default: '127.0.0.1:8092',
      lifetime: 'port',
    },
    token_env: {
      type: 'text',
      description:
        'Environment variable with the bearer secret that clients send as their API key.',
      format: 'env',
      required: true,
    },
    brains: {
      type: 'list',
      description: 'The brains that clients can use as models. They need no route.',
      items: { type: 'text', description: 'The `name` of a configured brain.' },
      itemsMin: 1,
      defaultNote: 'all brains',
    },
    max_in_flight: {
      type: 'integer',
      description: 'Requests at one time. svc answers further ones with 429.',
      minimum: 1,
      maximum: requestsMax,
      above: 'clamped',
      default: 256,
    },
    requests_per_minute: {
      type: 'integer',
      description: 'Requests in one minute. svc answers further ones with 429.',
      minimum: 1,
      maximum: 1_000_000,
      above: 'clamped',
      defaultNote: 'no limit',
    },
  },
} as const satisfies ObjectField;

const admin = {
  type: 'object',
  description: 'Switches on writes and the builder. Absent: read-only.',
  lifetime: 'process',
  fields: {
    token_env: {
      type: 'text',
      description:
        "Environment variable with the administrator's bearer token. Not set: read-only.",
      format: 'env',
      required: true,
      lifetime: 'process',
    },
  },
} as const satisfies ObjectField;

export const schema = {
  type: 'object',
  description: 'Configuration of svc.',
  required: true,
  fields: {
    channels: {
      type: 'list',
      description: 'The channels to run. Only one of each type can be without a `name`.',
      required: true,
      itemsMin: 1,
      unless: 'completions',
      items: channel,
    },
    brains: {
      type: 'list',
      description: 'The brains that answer.',
      required: true,
      itemsMin: 1,
      items: brain,
    },
    routes: {
      type: 'list',
      description: 'Which brain answers which channel.',
      required: true,
      itemsMin: 1,
      unless: 'completions',
      items: route,
    },
    storage,
    session,
    observability,
    admin,
    completions,
  },
} as const satisfies ObjectField;

/** A file without problems, with the file's own names: defaults filled in, absent is null. */
export type Document = Whole<typeof schema>;
/** A file that may have problems: a wrong value, or a missing required one, is undefined. */
export type DraftDocument = Draft<typeof schema>;
export type ChannelDraft = NonNullable<NonNullable<DraftDocument['channels']>[number]>;
export type BrainDraft = NonNullable<NonNullable<DraftDocument['brains']>[number]>;
