/**
 * Answers an operator's questions about configurations without touching the running service. Drafts
 * have models and connections of their own, and nothing here is stored.
 */
import type {
  AnswerRow,
  Draft,
  ModelList,
  ModelProvider,
  Preflighted,
  ConfigTrials,
  ToolRow,
  Tried,
  TryResult,
  Validated,
} from '../../admin/config-trials.ts';
import {
  channelOfBrain,
  type BrainConfig,
  type Config,
  type Secrets,
} from '../../config/config.ts';
import { completionsChannel } from '../../domain/ids.ts';
import type { ConfigProblem } from '../../config/problems.ts';
import { fileOnlyFields } from '../../config/file-only.ts';
import { inspectText, type ConfigPlace, type Inspection } from '../../config/inspect.ts';
import type { SecretLookupResults } from '../../config/found-secret.ts';
import { problemsOf, namedSecrets, resolveSecrets, isOfMcpServer } from '../../config/secrets.ts';
import { windowAfter } from '../../domain/conversation.ts';
import { commandSentences, sentenceOf } from '../../pipeline/sentences.ts';
import { explainRoutes } from '../../domain/explain-route.ts';
import { leadingCommand, routeCommandOf } from '../../domain/routing.ts';
import { findKind, kindOf } from '../../channels/registry.ts';
import type { Log } from '../../lib/log.ts';
import { Mask } from '../../lib/mask.ts';
import { warnOfPrivateTurns, type PrivateTurns } from './private-warning.ts';
import { sentenceByHand } from '../../config/refusals.ts';
import { DryRun, type ModelAnswer, type DryRunResult } from '../dry-run.ts';
import type { SecretLookup } from '../../secrets/secrets.ts';
import type { SpendBook } from '../../ledger/ledger.ts';
import { createTrialDeps, readSkills, type ServiceDeps } from '../service.ts';
import { problemOfSkills, warningsOfSkills } from './skill-warnings.ts';

type Show = NonNullable<Parameters<ConfigTrials['tryBrain']>[2]>;

export type TrialSettings = ConfigPlace & {
  /** The lookup, which holds the secrets of the configuration in use. */
  readonly lookup: SecretLookup;
  /** The database that this process has open; null: none. */
  readonly heldDatabase: string | null;
  /** The configuration in use. */
  config(): Config;
  readonly deps: ServiceDeps;
  readonly reader: PrivateTurns;
  /** The book that the spend of trials is charged to. */
  readonly spend: SpendBook;
  /** The log, which learns to hide every secret that a draft names. */
  readonly log: Pick<Log, 'scrub'>;
};

/** How many slow questions of each kind may be under way. */
const atOnceMax = 4;
/** How much of each tool result the answer has. */
const resultCharactersMax = 4_000;

export function createTrials(settings: TrialSettings): ConfigTrials {
  return new ServiceTrials(settings);
}

class ServiceTrials implements ConfigTrials {
  readonly #settings: TrialSettings;
  readonly #preflights = new ConcurrencyLimit(atOnceMax);
  readonly #trials = new ConcurrencyLimit(atOnceMax);

  constructor(settings: TrialSettings) {
    this.#settings = settings;
  }

  async validate(text: string): Promise<Validated> {
    return this.#validated(await this.#inspect(text));
  }

  async preflight(text: string, left: AbortSignal): Promise<Preflighted | 'busy'> {
    const { lookup, deps, heldDatabase } = this.#settings;
    return this.#preflights.take(async () => {
      const inspection = await this.#inspect(text);
      const { runPreflight } = await import('../preflight/preflight.ts');
      const { version, listeners } = deps;
      const surroundings = { lookup, version, listeners, heldDatabase, left };
      const found = await runPreflight(inspection, surroundings);
      const lines = found.map(({ mark: kind, subject, message, remedy, refuses }) => {
        return { kind, subject, message, remedy, refuses };
      });
      return { ...(await this.#validated(inspection)), lines };
    });
  }

  async listModels(provider: ModelProvider, left: AbortSignal): Promise<ModelList | 'busy'> {
    return this.#preflights.take(async () => {
      const { validation } = await this.#inspect(textWith(provider));
      if (validation.kind === 'invalid') {
        const [{ path, message, remedy }] = validation.problems as [ConfigProblem];
        const field = path.startsWith(modelPath) ? path.slice(modelPath.length) : path;
        return { names: [], reason: `${field}: ${message}. ${remedy}` };
      }
      const { config } = validation;
      const { secrets } = resolveSecrets(config, await this.#find(config, left));
      this.#settings.log.scrub(secrets.values());
      const { namesOfProvider } = await import('../preflight/models.ts');
      const deps = createTrialDeps(this.#settings.deps);
      const found = await namesOfProvider(config.brains[0]!.models[0]!, secrets, deps);
      const mask = await this.#maskOf(secrets, left);
      return { ...found, names: found.names.map((name) => mask.clean(name)) };
    });
  }

  async tryBrain(draft: Draft, left: AbortSignal, show?: Show): Promise<Tried> {
    const tried = await this.#trials.take(() => this.#try(draft, left, show));
    return tried === 'busy' ? { kind: 'busy' } : tried;
  }

  #find(config: Config, stop: AbortSignal): Promise<SecretLookupResults> {
    const names = namedSecrets(config).map(({ name }) => name);
    return this.#settings.lookup.find(names, stop);
  }

  async #validated(inspection: Inspection): Promise<Validated> {
    const { validation, folder } = inspection;
    const { problems } = validation;
    if (validation.kind === 'invalid') return { valid: false, problems };
    const { config } = validation;
    const privateWarnings = await warnOfPrivateTurns(config, this.#settings.reader);
    // The token alone does not open folders that need a person at the machine.
    const elsewhere = await fileOnlyFields(config, this.#settings.config(), folder);
    const skills = elsewhere.length > 0 ? [] : await warningsOfSkills(inspection);
    return { valid: true, problems: [...problems, ...skills, ...privateWarnings] };
  }

  #inspect(text: string): Promise<Inspection> {
    const { file, env, addresses } = this.#settings;
    return inspectText(text, file, env, false, addresses);
  }

  async #try(draft: Draft, left: AbortSignal, show?: Show): Promise<Tried> {
    const { validation, folder } = await this.#inspect(draft.config);
    if (validation.kind === 'invalid') {
      return { kind: 'config_invalid', problems: validation.problems };
    }
    const { config } = validation;
    const routed = routeOf(config, draft);
    if (routed.kind === 'unknown_channel') return routed;
    const index = config.brains.findIndex(({ name }) => name === routed.brain);
    const brain = config.brains[index];
    if (brain === undefined) {
      return { kind: 'unknown_brain', brains: config.brains.map(({ name }) => name) };
    }
    if (routed.described !== null) {
      return { kind: 'tried', result: describedResult(routed, this.#settings.deps.now()) };
    }
    const own = config.brains.map((one) => (one === brain ? one : { ...one, agent: null }));
    const fields = await fileOnlyFields({ brains: own }, this.#settings.config(), folder);
    if (fields.length > 0) {
      return { kind: 'restart_required', fields, detail: sentenceByHand(fields) };
    }
    const { secrets, missing } = resolveSecrets(config, await this.#find(config, left));
    const missingProblems = problemsOf(missing).filter(
      ({ path }) => path.startsWith(`brains[${index}].`) && !isOfMcpServer(path),
    );
    if (missingProblems.length > 0) return { kind: 'secret_missing', problems: missingProblems };
    const skills = await skillsOf(own, brain.name);
    if (skills.kind === 'problem') return { kind: 'config_invalid', problems: [skills.problem] };
    this.#settings.log.scrub(secrets.values());
    const { deps, spend: book } = this.#settings;
    const spend = { book, events: deps.events };
    const place = { channel: routed.channel, skills: skills.text, spend };
    const mask = await this.#maskOf(secrets, left);
    const dryRun = new DryRun(brain, secrets, createTrialDeps(deps), place);
    const { turns, sensitivity } = draft;
    show?.('');
    const showMasked = show && ((whole: string): void => show(mask.cleanGrowing(whole)));
    const history = windowAfter(turns, brain.historyBounds);
    const { text, route } = routed;
    const dryRunResult = await dryRun.ask(text, history, left, sensitivity, showMasked);
    return { kind: 'tried', result: { ...tryResultOf(brain, dryRunResult, mask), route } };
  }

  /** A model or a file may repeat a secret, which the operator's page must not show. */
  async #maskOf(secrets: Secrets, left: AbortSignal): Promise<Mask> {
    const mask = new Mask();
    const used = this.#settings.config();
    mask.add(resolveSecrets(used, await this.#find(used, left)).secrets.values());
    mask.add(secrets.values());
    return mask;
  }
}

const modelPath = 'brains[0].models[0].';

/** A configuration around one model, whose fields the usual parser checks. */
function textWith({ provider, base_url, api_key_env }: ModelProvider): string {
  const model = {
    provider,
    model_id: 'any',
    locality: api_key_env === null ? 'local' : 'cloud',
    ...(base_url !== null && { base_url }),
    ...(api_key_env !== null && { api_key_env }),
  };
  const brain = { name: 'any', sensitivity: 'public', policy: { kind: 'priority' } };
  return JSON.stringify({
    channels: [
      { type: 'webhook', token_env: 'ANY', webhook: { outbound_url: 'http://localhost' } },
    ],
    brains: [{ ...brain, models: [model] }],
    routes: [{ channel: 'webhook', brain: 'any' }],
  });
}

type Routed = {
  readonly kind: 'routed';
  readonly brain: string;
  /** The channel whose grants hold; null: a place that no grant names. */
  readonly channel: string | null;
  /** What the brain is asked. */
  readonly text: string;
  readonly route: NonNullable<TryResult['route']> | null;
  /** The text is the command of the route alone, so svc answers with this; null: it is not. */
  readonly described: string | null;
};

/** Chooses the brain as the draft names it, or as the routes of its channel do. */
function routeOf(
  config: Config,
  { brain, channel, text, from }: Draft,
): Routed | Extract<Tried, { kind: 'unknown_channel' }> {
  const { channels, routes, session } = config;
  const chosen = channels.find(({ name }) => name === channel);
  const isNamed = channel === null || channel === completionsChannel || chosen !== undefined;
  if (brain !== null && (isNamed || findKind(channel) !== undefined)) {
    const place = {
      channel: channel ?? channelOfBrain(brain, config),
      route: null,
      described: null,
    };
    return { kind: 'routed', brain, text, ...place };
  }
  const own = routes.filter((route) => route.channel === channel);
  if (chosen === undefined || own.length === 0) {
    const names = new Set(routes.map((route) => route.channel));
    return { kind: 'unknown_channel', channels: [...names] };
  }
  const triggers = session?.triggers ?? [];
  const { placeOf } = kindOf(chosen.type);
  const { taken, routes: verdicts } = explainRoutes(own, { ...from, text }, { placeOf, triggers });
  if (taken === null) throw new Error(`${channel} has no route for every other message`);
  const { why } = verdicts.find(({ verdict }) => verdict === 'taken')!;
  const { number, brain: name } = taken;
  const route = { number, why };
  const command = routeCommandOf(taken) === null ? null : leadingCommand(text, triggers);
  const to = { kind: 'routed', brain: name, channel, route } as const;
  if (command === null) return { ...to, text, described: null };
  const { description } = own.find((one) => one.number === number)!;
  const answer = description ?? commandSentences.commandNeedsText(command.command);
  return { ...to, text: command.rest, described: command.rest === '' ? answer : null };
}

/** The answer of svc itself, for which it asks no model. */
function describedResult({ brain, route, described }: Routed, at: number): TryResult {
  return {
    decision: { kind: 'reply', text: described ?? '', model: null },
    ms: 0,
    why: 'the text is the command of the route alone',
    route,
    trace: {
      acceptedAt: at,
      claimedAt: at,
      decidedAt: at,
      brain,
      attempt: 1,
      outcome: 'command',
      steps: [],
    },
    answers: [],
    tools: [],
  };
}

/** Limits the work under way. It refuses instead of making a caller wait. */
class ConcurrencyLimit {
  #free: number;

  constructor(most: number) {
    this.#free = most;
  }

  async take<T>(work: () => Promise<T>): Promise<T | 'busy'> {
    if (this.#free === 0) return 'busy';
    this.#free--;
    try {
      return await work();
    } finally {
      this.#free++;
    }
  }
}

type SkillsOfBrain =
  | { readonly kind: 'read'; readonly text: string | null }
  | { readonly kind: 'problem'; readonly problem: ConfigProblem };

async function skillsOf(brains: readonly BrainConfig[], name: string): Promise<SkillsOfBrain> {
  const read = await readSkills(brains);
  if (read.kind === 'read') return { kind: 'read', text: read.texts.get(name) ?? null };
  return { kind: 'problem', problem: problemOfSkills(read) };
}

function tryResultOf(brain: BrainConfig, dryRunResult: DryRunResult, mask: Mask): TryResult {
  const { decision, steps, askedAt, decidedAt, ms } = dryRunResult;
  const why = mask.clean(decision.why);
  const outcome = decision.kind === 'reply' ? 'reply' : decision.apology;
  const times = { acceptedAt: askedAt, claimedAt: askedAt, decidedAt };
  return {
    decision:
      decision.kind === 'reply'
        ? { kind: 'reply', text: mask.clean(decision.text), model: decision.model }
        : { kind: 'apology', apology: decision.apology, text: sentenceOf(decision, decidedAt) },
    ms,
    why,
    trace: { ...times, brain: brain.name, attempt: 1, outcome, steps },
    answers: dryRunResult.answers.map((answer) => answerRow(answer, mask)),
    tools: dryRunResult.uses.map((use): ToolRow => {
      const { tool, mode, outcome: end } = use;
      const result = end === 'rehearsed' ? null : cut(mask.clean(use.told));
      return { tool, mode, outcome: end, arguments: mask.clean(use.arguments), result };
    }),
  };
}

function answerRow(answer: ModelAnswer, mask: Mask): AnswerRow {
  const { model, kind } = answer;
  const nothing = { text: null, ms: null, failure: null, reason: null };
  switch (answer.kind) {
    case 'answer':
      return { ...nothing, model, kind, text: mask.clean(answer.text), ms: answer.ms };
    case 'failed': {
      const { failure, ms } = answer;
      return { ...nothing, model, kind, ms, failure, reason: failure.detail };
    }
    case 'dropped':
    case 'not_asked':
      return { ...nothing, model, kind, reason: answer.reason };
    default:
      return answer satisfies never;
  }
}

function cut(text: string): string {
  if (text.length <= resultCharactersMax) return text;
  return `${text.slice(0, resultCharactersMax).toWellFormed()}…`;
}
