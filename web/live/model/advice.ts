/** Advice about a model that does not answer, by the kind of failure. */
import { failure, type FailureKind } from '../../../src/domain/failure.ts';
import { practiceModelName, remedyForModel } from '../../../src/domain/remedy.ts';
import { sentence, upper } from '../../kit/words.ts';

export type Advice = {
  /** A sentence about the failure. */
  readonly wrong: string;
  /** The first step is the one that helps most people. */
  readonly steps: readonly Step[];
};

export type Step =
  /** Start or install the local runtime. */
  | { readonly kind: 'start' }
  | { readonly kind: 'fetch'; readonly command: string }
  /** It was the practice model: replace it by a model of a real runtime. */
  | { readonly kind: 'real' }
  /** Replace it by another model. */
  | { readonly kind: 'replace' }
  | { readonly kind: 'key' }
  | { readonly kind: 'address' }
  | { readonly kind: 'told'; readonly text: string };

/** The id in a model's name, which is `provider/id`. */
export function modelIdOf(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}

/** The practice model exists only during the first run; no action brings it back. */
export const isPractice = (name: string): boolean => name === `local_runtime/${practiceModelName}`;

export function isLocalRuntime(name: string): boolean {
  return name.startsWith('local_runtime/');
}

/** Whether a probe, which sends no text of anybody, can see that the failure is over. */
export function isSeenByProbes(kind: FailureKind): boolean {
  return kind === 'connect_failed' || kind === 'connect_timeout' || kind === 'not_found';
}

/** @param name of the model */
export function adviceFor(kind: FailureKind, name: string): Advice {
  const known = (isLocalRuntime(name) ? ofRuntime : ofHosted)[kind];
  return known === undefined ? byTable(kind, name) : known(modelIdOf(name));
}

type Advices = Readonly<Partial<Record<FailureKind, (modelId: string) => Advice>>>;

const textStep = (text: string): Step => ({ kind: 'told', text });
const replace: Step = { kind: 'replace' };
const address: Step = { kind: 'address' };

const away = (modelId: string): Advice =>
  modelId === practiceModelName
    ? {
        wrong: 'It was the practice model, which answers in the first run alone.',
        steps: [{ kind: 'real' }],
      }
    : { wrong: 'Ollama does not answer.', steps: [{ kind: 'start' }, address] };

const troubled = (): Advice => ({
  wrong: 'Ollama had trouble with it.',
  steps: [
    textStep(
      'Mostly a model needs more memory than is free. Close what you do not need, quit Ollama, ' +
        'and start it again.',
    ),
    replace,
  ],
});

const ofRuntime: Advices = {
  connect_failed: away,
  connect_timeout: away,
  not_found: (modelId) => ({
    wrong: 'Ollama runs, but does not have this model.',
    steps: [{ kind: 'fetch', command: `ollama pull ${modelId}` }, replace],
  }),
  timeout: () => ({
    wrong: 'It did not answer in time.',
    steps: [
      textStep(
        'A first answer loads the model, which may take minutes: ask it again below. A model ' +
          'that is large for this machine stays slow.',
      ),
      replace,
    ],
  }),
  overloaded: troubled,
  server_error: troubled,
  left_machine: () => ({
    wrong: 'Ollama hands it on to a vendor, and nothing private goes there.',
    steps: [replace],
  }),
};

const unreached = (): Advice => ({
  wrong: 'Its provider cannot be reached.',
  steps: [textStep('See whether this machine is connected to the internet.'), address],
});

const passing = (wrong: string) => (): Advice => ({
  wrong,
  steps: [textStep('That mostly passes by itself: ask it again in some minutes.'), replace],
});

const ofHosted: Advices = {
  connect_failed: unreached,
  connect_timeout: unreached,
  unauthorized: () => ({ wrong: 'Its provider refuses the key.', steps: [{ kind: 'key' }] }),
  not_found: () => ({ wrong: 'Its provider has no such model.', steps: [replace] }),
  rate_limited: () => ({
    wrong: 'Its provider takes nothing more now.',
    steps: [
      textStep(
        'Too much was asked within a short time, or the account has nothing left to pay with. ' +
          "The provider's own page has the account.",
      ),
    ],
  }),
  overloaded: passing('Its provider has trouble.'),
  server_error: passing('Its provider has trouble.'),
  timeout: passing('It did not answer in time.'),
};

/** For rare failures: the failure's sentence, and its remedy if there is one. */
function byTable(kind: FailureKind, name: string): Advice {
  const remedy = remedyForModel(kind, name);
  const wrong = sentence(upper(failure(kind).detail));
  return { wrong, steps: [...(remedy === null ? [] : [textStep(remedy)]), { kind: 'replace' }] };
}
