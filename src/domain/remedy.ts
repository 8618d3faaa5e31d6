/** What the operator can do when a model gave no answer. */
import type { FailureKind } from './failure.ts';

/** What the practice model of a first run is called: it ends with that, and with the demo. */
export const practiceModelName = 'practice';

type Remedies = Partial<Record<FailureKind, (modelId: string) => string>>;

const nearer = (): string =>
  'Write a base_url on this machine or in a private network, or declare the model "cloud".';

const roomier = (): string =>
  "Raise the brain's budget, or give the brain a local model without a price.";

const credited = (): string =>
  "Add credit to the provider's account, or name another model beside it.";

const reworded = (): string =>
  "The provider's words in the log and the trace say what it does not take.";

const reshaped = (): string =>
  'It was asked without the tools that it refused, as the trace says: take them out of ' +
  'agent.tools, or have their server describe them more simply.';

const larger = (): string =>
  'Give the model a larger context where it runs, or name another model beside it.';

const filtered = (): string =>
  'The filter belongs to the provider: set it there, or name another model beside it.';

const remedies = {
  local_runtime: {
    connect_failed: (modelId) =>
      modelId === practiceModelName
        ? 'The practice model has ended. Take a real one.'
        : 'Ollama is not running: `ollama serve`. If it is, check base_url.',
    not_found: (modelId) => `Fetch the model: \`ollama pull ${modelId}\`, or name another.`,
    unauthorized: () => 'Check the key in the environment.',
    server_error: () => "Look into Ollama's log, or start it again.",
    timeout: () => 'Ollama hangs, or is too slow: `ollama ps` shows what it does; start it again.',
    overloaded: () => 'Ollama has too much to do: name another model beside it.',
    rejected: reworded,
    tool_refused: reshaped,
    malformed_answer: () => 'Check that Ollama answers at base_url, and nothing else does.',
    context_overflow: larger,
    far_address: nearer,
    over_budget: roomier,
  },
  hosted_runtime: {
    connect_failed: () => 'Check base_url and the way to the network.',
    not_found: () => 'Name another model, or check base_url.',
    unauthorized: () => 'Check the key in the environment.',
    server_error: () => "Look at the provider's status page, or name another model beside it.",
    timeout: () => "Look at the provider's status page, or name another model beside it.",
    overloaded: () => 'The provider has too much to do: name another model beside it.',
    rejected: reworded,
    malformed_answer: () => 'Check that base_url leads to an API of the OpenAI kind.',
    no_credit: credited,
    tool_refused: reshaped,
    filtered,
    context_overflow: larger,
    rate_limited: () =>
      "Raise the limit of the provider's account, or name another model beside it.",
    far_address: nearer,
    over_budget: roomier,
  },
} as const satisfies Record<string, Remedies>;

export type RemediedProvider = keyof typeof remedies;

/** @returns a sentence; null: the failure says nothing of what to do */
export function remedyOf(
  kind: FailureKind,
  provider: RemediedProvider,
  modelId: string,
): string | null {
  const known: Remedies = remedies[provider];
  return known[kind]?.(modelId) ?? null;
}

/** The same for a model's name, which is provider and model id with a slash between. */
export function remedyForModel(kind: FailureKind, name: string): string | null {
  const slash = name.indexOf('/');
  const provider = name.slice(0, slash);
  return isKnown(provider) ? remedyOf(kind, provider, name.slice(slash + 1)) : null;
}

/** A log line of a call that failed. */
export function sayNoAnswer(
  name: string,
  kind: FailureKind,
  { said, status }: { readonly said?: string; readonly status?: number } = {},
): string {
  const remedy = remedyForModel(kind, name);
  const words = said === undefined ? '' : ` Its provider said: "${said}".`;
  const which = status === undefined ? kind : `${kind} (status ${status})`;
  return `${name} gave no answer: ${which}.${words}${remedy === null ? '' : ` ${remedy}`}`;
}

/** A log line of an answer that is not whole. */
export function sayCut(name: string): string {
  return (
    `${name} was cut off at a limit of length, and the person was told so. ` +
    'Raise max_output_tokens of the model, or the context of its runtime.'
  );
}

function isKnown(provider: string): provider is RemediedProvider {
  return Object.hasOwn(remedies, provider);
}
