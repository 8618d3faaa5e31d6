/**
 * Remedies: what the operator can do when a model, a speech server or the storage does not work.
 */
import type { FailureKind } from './failure.ts';

/** The name of the practice model of a first run. It ends when the first run or the demo ends. */
export const practiceModelName = 'practice';

type Remedies = Partial<Record<FailureKind, (modelId: string) => string>>;

const useNearAddress = (): string =>
  'Write a base_url on this machine or in a private network, or declare the model "cloud".';

const raiseBudget = (): string =>
  "Raise the brain's budget, or give the brain a local model without a price.";

const addCredit = (): string =>
  "Add credit to the provider's account, or add another model to the brain.";

const correctFields = (): string =>
  "Read the provider's words in the log or the trace and correct the model's fields, or add " +
  'another model to the brain.';

const removeTools = (): string =>
  'svc asked again without the refused tools, which the trace names. Remove them from ' +
  'agent.tools, or simplify their schemas on their server.';

const enlargeContext = (): string =>
  'Give the model a larger context where it runs, or add another model to the brain.';

const filtered = (): string =>
  "Change the filter in the provider's settings, or add another model to the brain.";

const askAgain = (): string => 'Ask again. If it happens often, add another model to the brain.';

const addSeeingModel = (): string => 'Add a model that sees pictures to the brain.';

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
    rejected: correctFields,
    tool_refused: removeTools,
    malformed_answer: () => 'Check that base_url leads to Ollama, and to no other program.',
    context_overflow: () =>
      'Write a larger context_tokens for the model, or add another model to the brain.',
    far_address: useNearAddress,
    over_budget: raiseBudget,
    connect_timeout: () => 'Check base_url and the network between svc and Ollama.',
    connection_lost: () => "Look into Ollama's log, or start it again.",
    redirected: () => 'Write the address that it redirects to into base_url.',
    empty_answer: askAgain,
    pictures_unsupported: addSeeingModel,
    left_machine: () => 'Use a model that runs on this machine, or declare this one "cloud".',
  },
  hosted_runtime: {
    connect_failed: () => 'Check base_url and the way to the network.',
    not_found: () => 'Name another model, or check base_url.',
    unauthorized: () => 'Check the key in the environment.',
    server_error: () => "Look at the provider's status page, or add another model to the brain.",
    timeout: () => "Look at the provider's status page, or add another model to the brain.",
    overloaded: () => 'The provider has too much to do: add another model to the brain.',
    rejected: correctFields,
    malformed_answer: () => "Check that base_url leads to an API with the paths of OpenAI's.",
    no_credit: addCredit,
    tool_refused: removeTools,
    filtered,
    context_overflow: enlargeContext,
    rate_limited: () =>
      "Raise the limit of the provider's account, or add another model to the brain.",
    far_address: useNearAddress,
    over_budget: raiseBudget,
    connect_timeout: () => 'Check base_url and the way to the network.',
    connection_lost: askAgain,
    redirected: () => 'Write the address that it redirects to into base_url.',
    empty_answer: askAgain,
    pictures_unsupported: addSeeingModel,
  },
} as const satisfies Record<string, Remedies>;

export type RemediedProvider = keyof typeof remedies;

/** @returns a sentence; null: no remedy is known */
export function remedyOf(
  kind: FailureKind,
  provider: RemediedProvider,
  modelId: string,
): string | null {
  const known: Remedies = remedies[provider];
  return known[kind]?.(modelId) ?? null;
}

/** The same for a model's name, `PROVIDER/MODEL_ID`. */
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

/** The remedies for a speech server that gives no text. */
const checkSpeechServer = 'Start the speech server, or look at speech.base_url.';

const speechRemedies: Partial<Record<FailureKind, string>> = {
  connect_failed: checkSpeechServer,
  connect_timeout: checkSpeechServer,
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
  return speechRemedies[kind] ?? checkSpeechServer;
}

/** The remedies for a storage that takes nothing, by the code of its warning. */
const makeRoom = 'Make room on that disk; svc goes on by itself.';

/** The sentences name nothing of the machine, so anybody may read them. */
export const storageRemedies = {
  storage_full: makeRoom,
  storage_low: makeRoom,
  storage_locked: 'End that program, or its transaction; svc goes on by itself.',
  storage_away: 'Start the server, or make the way to it free; svc goes on by itself.',
} as const;

/** The storages that a ledger can have. */
export const storageBackends = ['memory', 'sqlite', 'postgres'] as const;

export type StorageBackend = (typeof storageBackends)[number];

/** The limited resources of the process, and the warning when one of them runs out. */
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
