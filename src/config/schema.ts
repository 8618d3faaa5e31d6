/**
 * The schema of the configuration: the one definition of every field that a file may hold. Names
 * and structure are a stable contract. A new field is always optional, and marked `added`.
 */
import type { Draft, ObjectField, Whole } from './field.ts';
import { channel, channelTypeField } from './schema-channel.ts';
import { historyBounds, historyBoundsMax } from '../domain/conversation.ts';
import { agent } from './schema-agent.ts';

const providerNames = ['local_runtime', 'hosted_runtime'] as const;
export const providerSynonyms = { ollama: 'local_runtime', openai: 'hosted_runtime' } as const;

const policy = {
  type: 'object',
  description: 'How the reply is picked from what the models answered.',
  required: true,
  fields: {
    kind: {
      type: 'choice',
      description:
        '`priority`: the best-ranked answer. `consensus`: what more than half of the models ' +
        'that answered agree on, two at least; otherwise there is no consensus.',
      required: true,
      names: ['priority', 'consensus'],
    },
    order: {
      type: 'list',
      description:
        'Rank, best first: a provider, a `model_id` or `provider/model_id`; the rest come after.',
      items: { type: 'text', description: 'A provider, a model id, or both with a slash.' },
      default: [],
    },
  },
} as const satisfies ObjectField;

const amountMax = 1_000_000_000;

const price = {
  type: 'object',
  description:
    'What a million tokens cost, in whatever currency you count in. A model with a price costs, ' +
    'also where it is local: budgets hold for it.',
  added: true,
  fields: {
    input: {
      type: 'decimal',
      description: 'The price of a million tokens that the model reads.',
      required: true,
      minimum: 0,
      maximum: amountMax,
    },
    output: {
      type: 'decimal',
      description: 'The price of a million tokens that the model writes.',
      required: true,
      minimum: 0,
      maximum: amountMax,
    },
    cached_input: {
      type: 'decimal',
      description:
        "The price of a million of the read tokens that came from the provider's cache, where it " +
        'tells how many these are.',
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
      description: 'Declared by you, not derived: private brains ask only `local` models.',
      required: true,
      names: ['local', 'cloud'],
    },
    base_url: {
      type: 'text',
      description: 'Where the provider is.',
      format: 'base_url',
      defaultNote:
        '`http://127.0.0.1:11434` for `local_runtime`, `https://api.openai.com/v1` for `hosted_runtime`',
    },
    api_key_env: {
      type: 'text',
      description:
        'Environment variable with the API key; required for a `hosted_runtime` declared cloud.',
      format: 'env',
    },
    timeout_seconds: {
      type: 'integer',
      description: 'Seconds that one answer may take, loading the model included.',
      minimum: 1,
      maximum: 3600,
      above: 'clamped',
      defaultNote: '300 for `local_runtime`, 120 for `hosted_runtime`',
      added: true,
    },
    max_retries: {
      type: 'integer',
      description: 'Further tries after a passing failure; 0 means none.',
      minimum: 0,
      maximum: 10,
      above: 'clamped',
      default: 2,
      added: true,
    },
    max_in_flight: {
      type: 'integer',
      description: 'Calls to this model at one time, from all brains; the lowest of theirs holds.',
      minimum: 1,
      maximum: 10_000,
      above: 'clamped',
      default: 1000,
      added: true,
    },
    max_output_tokens: {
      type: 'integer',
      description:
        'Tokens that one answer may have; the provider is told. Needed where a budget holds.',
      minimum: 1,
      maximum: 1_000_000,
      defaultNote: "the provider's own limit",
      added: true,
    },
    context_tokens: {
      type: 'integer',
      description:
        'Tokens that the model reads and writes in one call. svc leaves out the oldest history ' +
        'beyond it. Ollama is told it as `num_ctx`; a `hosted_runtime` is not told.',
      minimum: 512,
      maximum: 10_000_000,
      defaultNote: 'the runtime decides',
      added: true,
    },
    price,
    vision: {
      type: 'boolean',
      description:
        'Whether the model sees pictures. Absent: as its provider says; where it says nothing, ' +
        'it sees none.',
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
    'What the brain may use of models that cost: cloud ones, and those with a price. Over it, ' +
    'models that cost nothing still answer. A day is that of the local time zone.',
  added: true,
  fields: {
    tokens_per_turn: {
      ...tokens,
      description: 'Tokens, read and written, for one message: all models, steps and retries.',
    },
    tokens_per_day: {
      ...tokens,
      description: 'Tokens, read and written, a day.',
    },
    cost_per_day: {
      type: 'decimal',
      description: 'What a day may cost, in the currency of the prices.',
      minimum: 0,
      maximum: amountMax,
      added: true,
    },
    tokens_per_sender_per_day: {
      ...tokens,
      description: 'Tokens, read and written, a day for what one person writes.',
    },
  },
} as const satisfies ObjectField;

const history = {
  type: 'object',
  description:
    'How much of a conversation the models see. When one of the bounds is passed, the older half ' +
    'goes at once, so that a model can use its prompt cache in between.',
  added: true,
  fields: {
    turns: {
      type: 'integer',
      description: 'Messages with their replies. 0: the models see the newest message alone.',
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
      description: 'Unique; routes name it.',
      required: true,
    },
    sensitivity: {
      type: 'choice',
      description: '`private` drops cloud models before anything is sent.',
      required: true,
      names: ['public', 'private'],
    },
    dispatch: {
      type: 'choice',
      description:
        '`fanout` asks all models at once; `sequential` asks as listed until one answers.',
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
        'What every model of this brain is told first: who it is, and how it is to answer. With ' +
        "an `agent`, the agent's own prompts follow. Absent: nothing.",
      added: true,
    },
    agent,
    budget,
    history,
    deadline_seconds: {
      type: 'integer',
      description:
        'Seconds that a turn may take, all told; half of them at most to write down what is ' +
        'spoken.',
      minimum: 1,
      maximum: 3600,
      above: 'clamped',
      default: 600,
      added: true,
    },
  },
} as const satisfies ObjectField;

const route = {
  type: 'object',
  description: 'Gives the messages of a channel to a brain.',
  fields: {
    channel: {
      ...channelTypeField,
      description: 'The `type` of a configured channel.',
      required: true,
    },
    brain: { type: 'text', description: 'The `name` of a configured brain.', required: true },
  },
} as const satisfies ObjectField;

const storage = {
  type: 'object',
  description: 'Keeps conversations and unfinished work on disk. Absent: in memory only.',
  lifetime: 'process',
  fields: {
    path: {
      type: 'text',
      description: "The SQLite file; relative to the config file's folder. Not beside `url_env`.",
      defaultNote: "`svc/svc.db` in the user's configuration folder",
      lifetime: 'process',
    },
    retention_days: {
      type: 'integer',
      description:
        'Days that settled messages, replies and dead letters are kept; 0 keeps them for ever. ' +
        'What a conversation remembers is not touched.',
      minimum: 0,
      default: 30,
      added: true,
      lifetime: 'process',
    },
    url_env: {
      type: 'text',
      description:
        'Environment variable with the URL of a PostgreSQL server (14 or newer), in place of ' +
        '`path`: `postgres://user:password@host:5432/database`.',
      format: 'env',
      added: true,
      lifetime: 'process',
    },
  },
} as const satisfies ObjectField;

const session = {
  type: 'object',
  description: 'Cuts conversations into sessions; needs `storage`. Absent: no cuts.',
  fields: {
    triggers: {
      type: 'list',
      description: 'First words that begin a new session; an empty list means none.',
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
      description: 'Minutes of silence after which a session expires; 0 means never.',
      minimum: 0,
      default: 0,
    },
    recall_max: {
      type: 'integer',
      description: 'Turns that `/recall` may bring back, up to 50; 0 switches it off.',
      minimum: 0,
      maximum: 50,
      default: 0,
    },
  },
} as const satisfies ObjectField;

const observability = {
  type: 'object',
  description: 'The admin server: health, metrics, live view. On unless switched off.',
  default: 'empty',
  fields: {
    enabled: {
      type: 'boolean',
      description: 'Whether it runs.',
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
      description: 'Further host names under which the loopback admin server may be asked.',
      items: { type: 'text', description: 'A host name without a port.' },
      default: [],
      added: true,
    },
  },
} as const satisfies ObjectField;

const admin = {
  type: 'object',
  description: 'Switches on the write surface and the builder. Absent: read-only.',
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
      description: 'The channels to run, one of each type at most.',
      required: true,
      itemsMin: 1,
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
      items: route,
    },
    storage,
    session,
    observability,
    admin,
  },
} as const satisfies ObjectField;

/** A file without problems, with the file's own names: defaults filled in, absent is null. */
export type Document = Whole<typeof schema>;
/** A file that may have problems: a wrong value, or a missing required one, is undefined. */
export type DraftDocument = Draft<typeof schema>;
export type ChannelDraft = NonNullable<NonNullable<DraftDocument['channels']>[number]>;
export type BrainDraft = NonNullable<NonNullable<DraftDocument['brains']>[number]>;
