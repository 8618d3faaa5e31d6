/**
 * Whole configurations to begin with, as plain documents. The builder offers them. None of them has
 * a problem: a person only fills in names of variables and addresses.
 */
import type { JsonObject } from '../locate.ts';

export type Template = {
  readonly name: string;
  readonly title: string;
  /** For a person who chooses a template. */
  readonly description: string;
  readonly document: JsonObject;
};

const webhook: JsonObject = {
  type: 'webhook',
  token_env: 'WEBHOOK_SECRET',
  webhook: { outbound_url: 'http://127.0.0.1:9000/replies' },
};
const local = (model: string): JsonObject => {
  return { provider: 'local_runtime', model_id: model, locality: 'local' };
};
const paid: JsonObject = {
  provider: 'hosted_runtime',
  model_id: 'gpt-6-luna',
  locality: 'cloud',
  api_key_env: 'OPENAI_API_KEY',
};

/** A configuration with one webhook channel and a route to this brain. */
function onWebhook(brain: JsonObject & { readonly name: string }): JsonObject {
  return {
    channels: [webhook],
    brains: [brain],
    routes: [{ channel: 'webhook', brain: brain.name }],
  };
}

export const templates: readonly Template[] = [
  {
    name: 'echo',
    title: 'Echo on a webhook',
    description:
      'The smallest one that answers: messages come by HTTP, one local model answers, and each ' +
      'reply is posted back. Nothing is kept.',
    document: onWebhook({
      name: 'echo',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [local('llama3.2')],
    }),
  },
  {
    name: 'private-assistant',
    title: 'Private local assistant',
    description:
      'A local model that remembers conversations on this machine. The brain is private: a cloud ' +
      'model that is added later is never asked. /new begins a new session.',
    document: {
      ...onWebhook({
        name: 'assistant',
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [local('llama3.2')],
      }),
      storage: {},
      session: { recall_max: 10 },
    },
  },
  {
    name: 'local-first',
    title: 'Local first, paid second',
    description:
      'The local model is asked first; only when it fails is the paid one asked. The brain is ' +
      'public: then a message leaves this machine.',
    document: {
      ...onWebhook({
        name: 'helper',
        sensitivity: 'public',
        dispatch: 'sequential',
        policy: { kind: 'priority' },
        models: [{ ...local('llama3.2'), timeout_seconds: 60 }, paid],
      }),
      storage: {},
    },
  },
  {
    name: 'consensus',
    title: 'Three-way consensus',
    description:
      'Three local models are asked at once, and the reply is what a strict majority of them ' +
      'agrees on. For answers that are short and must be right.',
    document: onWebhook({
      name: 'triage',
      sensitivity: 'private',
      dispatch: 'fanout',
      policy: { kind: 'consensus', order: ['llama3.2', 'qwen3', 'gemma3'] },
      models: [local('llama3.2'), local('qwen3'), local('gemma3')],
    }),
  },
  {
    name: 'agent',
    title: 'Agent with memory',
    description:
      'A local model that may calculate, tell the time, and keep short notes about each ' +
      'conversation, which it sees in every later turn. It reaches nothing outside.',
    document: {
      ...onWebhook({
        name: 'agent',
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [local('llama3.2')],
        agent: {
          tools: ['time', 'calc', 'memory_note'],
          system_prompt: 'Be brief. Note what is worth knowing the next time.',
          memory: { scope: 'conversation', max_notes: 20 },
        },
      }),
      storage: {},
    },
  },
];

/** The text of a document, with indents and a line end at its end. */
export function textOf(document: JsonObject): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
