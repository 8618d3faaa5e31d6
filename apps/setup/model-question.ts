/** A real question to a model, as the service would ask it. */
import { Writable } from 'node:stream';
import type { BrainConfig, EnvName, Secrets } from '../../src/config/config.ts';
import { textOf } from '../../src/config/templates/templates.ts';
import { validateText } from '../../src/config/validate.ts';
import { remedyOf } from '../../src/domain/remedy.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { DryRun } from '../../src/app/dry-run.ts';
import type { SecretLookup } from '../../src/secrets/secrets.ts';
import { createServiceDeps, createTrialDeps, type ServiceDeps } from '../../src/app/service.ts';
import { documentOf, nothingFound, usualPlace } from './document.ts';
import { firstAnswerMs } from './pages-model.ts';
import type { Pouch } from './session.ts';
import type { ModelChoice, ModelOutcome } from './state.ts';

const question = 'Say hello in one short sentence.';
/** Of what a model said, so much is shown. */
const shownMax = 500;

export type AskOptions = {
  readonly pouch: Pouch;
  readonly lookup: SecretLookup;
  readonly version: string;
  /** Where the practice model answers; null: it is not asked. */
  readonly practice: string | null;
};

export async function askModel(
  model: ModelChoice,
  options: AskOptions,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const brain = brainOf(model, options.practice);
  if (typeof brain === 'string') return { kind: 'failed', message: brain, remedy: null };
  const { apiKeyEnv } = brain.models[0]!;
  const secrets = await secretsFor(apiKeyEnv, options, signal);
  const deps = createSilentDeps(options.version);
  const end = AbortSignal.any([signal, AbortSignal.timeout(firstAnswerMs)]);
  try {
    const settings = { channel: null, skills: null, spend: null };
    const dryRun = new DryRun(brain, secrets, createTrialDeps(deps), settings);
    const { answers, ms } = await dryRun.ask(question, [], end);
    return outcomeOf(answers[0], brain, ms);
  } finally {
    await deps.http.close();
  }
}

type Answer = Awaited<ReturnType<DryRun['ask']>>['answers'][number] | undefined;

function outcomeOf(answer: Answer, { models }: BrainConfig, ms: number): ModelOutcome {
  if (answer?.kind === 'answer') {
    const { text } = answer;
    const isLong = text.length > shownMax;
    return {
      kind: 'answer',
      text: isLong ? `${text.slice(0, shownMax).toWellFormed()}…` : text,
      ms,
    };
  }
  if (answer?.kind !== 'failed') {
    return { kind: 'failed', message: answer?.reason ?? 'it was not asked', remedy: null };
  }
  const { kind, detail } = answer.failure;
  const { provider, modelId } = models[0]!;
  return { kind: 'failed', message: detail, remedy: remedyOf(kind, provider, modelId) };
}

/** The brain that the file would have; a text: why it would have none. */
function brainOf(model: ModelChoice, practice: string | null): BrainConfig | string {
  const channel = { kind: 'channel', type: 'webhook', bot: null } as const;
  const draft = { file: 'new', model, channel, access: null, pasted: [], keep: null } as const;
  const facts = { ...nothingFound, place: { ...usualPlace, practice } };
  const validation = validateText(textOf(documentOf(draft, facts)));
  if (validation.kind === 'valid') return validation.config.brains[0]!;
  return validation.problems.find(({ severity }) => severity === 'error')!.message;
}

async function secretsFor(
  name: EnvName | null,
  { pouch, lookup }: AskOptions,
  signal: AbortSignal,
): Promise<Secrets> {
  if (name === null) return new Map();
  const pasted = pouch.get(name);
  if (pasted !== undefined) return new Map([[name, pasted]]);
  const found = (await lookup.find([name], signal)).get(name);
  return found?.kind === 'value' ? new Map([[name, found.value.trim()]]) : new Map();
}

/** For questions that belong to no service, and of which nothing is logged. */
export function createSilentDeps(version: string): ServiceDeps {
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const log = createLog({ stream: silence, level: 'error', format: 'text' });
  return createServiceDeps(createEvents({ log, ...systemClock }), version);
}
