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
  "Add credit to the provider's account, or add another model to the brain.";

const reworded = (): string =>
  "Read the provider's words in the log or the trace and correct the model's fields, or add " +
  'another model to the brain.';

const reshaped = (): string =>
  'svc asked again without the refused tools, which the trace names. Remove them from ' +
  'agent.tools, or simplify their schemas on their server.';

const larger = (): string =>
  'Give the model a larger context where it runs, or add another model to the brain.';

const filtered = (): string =>
  "Change the filter in the provider's settings, or add another model to the brain.";

const reasked = (): string => 'Ask again. If it happens often, add another model to the brain.';

const unsighted = (): string => 'Add a model that sees pictures to the brain.';

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
    overloaded: () => 'Ollama has too much to do: add another model to the brain.',
    rejected: reworded,
    tool_refused: reshaped,
    malformed_answer: () => 'Check that base_url leads to Ollama, and to no other program.',
    context_overflow: () =>
      'Write a larger context_tokens for the model, or add another model to the brain.',
    far_address: nearer,
    over_budget: roomier,
    connect_timeout: () => 'Check base_url and the network between svc and Ollama.',
    connection_lost: () => "Look into Ollama's log, or start it again.",
    redirected: () => 'Write the address that it redirects to into base_url.',
    empty_answer: reasked,
    pictures_unsupported: unsighted,
    left_machine: () => 'Use a model that runs on this machine, or declare this one "cloud".',
  },
  hosted_runtime: {
    connect_failed: () => 'Check base_url and the way to the network.',
    not_found: () => 'Name another model, or check base_url.',
    unauthorized: () => 'Check the key in the environment.',
    server_error: () => "Look at the provider's status page, or add another model to the brain.",
    timeout: () => "Look at the provider's status page, or add another model to the brain.",
    overloaded: () => 'The provider has too much to do: add another model to the brain.',
    rejected: reworded,
    malformed_answer: () => "Check that base_url leads to an API with the paths of OpenAI's.",
    no_credit: credited,
    tool_refused: reshaped,
    filtered,
    context_overflow: larger,
    rate_limited: () =>
      "Raise the limit of the provider's account, or add another model to the brain.",
    far_address: nearer,
    over_budget: roomier,
    connect_timeout: () => 'Check base_url and the way to the network.',
    connection_lost: reasked,
    redirected: () => 'Write the address that it redirects to into base_url.',
    empty_answer: reasked,
    pictures_unsupported: unsighted,
  },
} as const satisfies Record<string, Remedies>;

export type RemediedProvider = keyof typeof remedies;

/** @returns a sentence; null: nothing is known to help */
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

/**
 * The log line of a call that failed.
 * @param said the provider's words, scrubbed
 * @param status the HTTP status of its answer
 */
export function describeNoAnswer(
  name: string,
  kind: FailureKind,
  { said, status }: { readonly said?: string; readonly status?: number } = {},
): string {
  const remedy = remedyForModel(kind, name);
  const words = said === undefined ? '' : ` Its provider said: "${said}".`;
  const which = status === undefined ? kind : `${kind} (status ${status})`;
  return `${name} gave no answer: ${which}.${words}${remedy === null ? '' : ` ${remedy}`}`;
}

export const remedyOfCut =
  "Raise the model's max_output_tokens, or its context: with Ollama by context_tokens.";

/** The log line of an answer that stopped at a limit of length. */
export function describeCut(name: string): string {
  return (
    `${name} reached a limit of length before the end of its answer, and the reply says so. ` +
    remedyOfCut
  );
}

function isKnown(provider: string): provider is RemediedProvider {
  return Object.hasOwn(remedies, provider);
}

/** What the operator can do about a speech server that writes nothing down. */
const away = 'Start the speech server, or look at speech.base_url.';

const speechRemediesRemedies: Partial<Record<FailureKind, string>> = {
  connect_failed: away,
  connect_timeout: away,
  not_found:
    'Write speech.base_url with the /v1 that most servers want (whisper.cpp: --inference-path ' +
    '/v1/audio/transcriptions), and in speech.model a model that the server has.',
  unauthorized: 'svc sends no key: let the speech server take requests without one.',
  rejected: 'See that the server takes the format of voice messages: whisper.cpp wants --convert.',
  redirected: 'Write the address that it leads to into speech.base_url.',
  server_error: "Look into the speech server's log.",
  overloaded: 'Wait until it has started, or give it less to do.',
  rate_limited: 'Give it less to do.',
  malformed_answer: 'Look at speech.base_url: what answers there may be no speech server.',
  timeout:
    'Take a smaller model or a faster machine, or raise deadline_seconds of the brain: half of ' +
    'it is for what is spoken.',
  far_address: 'Write an address of this machine or of a private network into speech.base_url.',
};

export function speechRemedy(kind: FailureKind): string {
  return speechRemediesRemedies[kind] ?? away;
}

/** What a person does about a storage that takes nothing, by the code of its warning. */
const makeRoom = 'Make room on that disk; svc goes on by itself.';

/** They name nothing of a machine: whoever looks may read them. */
export const storageRemedies = {
  storage_full: makeRoom,
  storage_low: makeRoom,
  storage_locked: 'End that program, or its transaction; svc goes on by itself.',
  storage_away: 'Start the server, or make the way to it free; svc goes on by itself.',
} as const;

/** What a ledger is kept in. */
export const storageBackends = ['memory', 'sqlite', 'postgres'] as const;

export type StorageBackend = (typeof storageBackends)[number];

/** What svc may have only so much of, and what it says when that was not enough. */
export const shortages = {
  connections: {
    code: 'connections_full',
    sentence: 'A connection was closed unanswered: as many are open as there may be at once.',
  },
  files: {
    code: 'files_full',
    sentence:
      'A connection to elsewhere could not be opened: this process has as many files open as it ' +
      'may. Let it have more (ulimit -n 65536, or LimitNOFILE=65536 of its service).',
  },
} as const;

export type Shortage = keyof typeof shortages;
