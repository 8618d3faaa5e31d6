/** Checks a brain's models, policy, dispatch and budget together. */
import { endingsOfBase } from '../domain/model-habits.ts';
import { rangeOf } from '../lib/ip-address.ts';
import { isLoopbackHost, parseWebAddress, checkEncrypted } from './address.ts';
import { defaultBaseUrl } from './parse.ts';
import { shortList, namesMax } from './quote.ts';
import type { ProblemList } from './problems.ts';
import { modelMatcher, hasCloudTag, rankModels, isVendorHost, type KnownModel } from './rank.ts';
import { checkAgent } from './rules-agent.ts';
import type { BrainDraft, DraftDocument } from './schema.ts';

type ModelDraft = NonNullable<NonNullable<BrainDraft['models']>[number]>;

/** Adds the problems of one brain. */
export function checkBrain(
  brain: BrainDraft,
  path: string,
  document: DraftDocument,
  problems: ProblemList,
): void {
  if (brain.policy?.kind === 'consensus') checkConsensus(brain, path, problems);
  for (const [index, model] of (brain.models ?? []).entries()) {
    if (model !== undefined) checkModel(model, brain, `${path}.models[${index}]`, problems);
  }
  checkBudget(brain, path, problems);
  const ranked = checkRank(brain, path, problems);
  if (brain.agent) checkAgent(brain.agent, { brain, path, ranked }, document, problems);
}

/** @returns the models that the brain may ask, best first; none when a model could not be read */
function checkRank(brain: BrainDraft, path: string, problems: ProblemList): readonly KnownModel[] {
  const drafts = brain.models ?? [];
  const models = drafts.map(knownModel).filter((model) => model !== null);
  if (models.length === 0 || models.length < drafts.length) return [];
  checkOrder(brain, models, path, problems);
  const usable = models.filter((model) => brain.sensitivity !== 'private' || isLocal(model));
  if (usable.length === 0) {
    const message = 'a private brain asks local models only, and it has none: it answers nobody';
    const remedy = 'Add a model with "locality": "local".';
    problems.add('private_without_local', `${path}.models`, message, remedy);
  }
  return rankModels(withoutUndefined(brain.policy?.order), usable).map((index) => usable[index]!);
}

function isLocal(model: KnownModel): boolean {
  return model.locality === 'local';
}

function withoutUndefined<T>(list: readonly (T | undefined)[] | undefined): readonly T[] {
  return (list ?? []).filter((entry) => entry !== undefined);
}

function knownModel(model: ModelDraft | undefined): KnownModel | null {
  const { provider, model_id: modelId, locality } = model ?? {};
  if (provider === undefined || modelId === undefined || locality === undefined) return null;
  return { provider, modelId, locality };
}

function checkConsensus(brain: BrainDraft, path: string, problems: ProblemList): void {
  if (brain.models !== undefined && brain.models.length < 2) {
    const message = 'consensus needs at least two models, or nobody can agree';
    const remedy = 'Add models, or write "kind": "priority".';
    problems.add('consensus_alone', `${path}.policy.kind`, message, remedy);
  }
  if (brain.dispatch === 'sequential') {
    const message = 'sequential dispatch stops at the first answer, so two can never agree';
    const remedy = 'Write "dispatch": "fanout".';
    problems.add('consensus_sequential', `${path}.dispatch`, message, remedy);
  }
}

function checkModel(
  model: ModelDraft,
  brain: BrainDraft,
  path: string,
  problems: ProblemList,
): void {
  if (typeof model.api_key_env === 'string') {
    checkEncrypted(model.base_url, 'the API key', `${path}.base_url`, problems);
  }
  checkUrlEnding(model, path, problems);
  checkOutputLimit(model, path, problems);
  if (model.locality !== 'local') return;
  const isPrivate = brain.sensitivity === 'private';
  const { provider = '', model_id: modelId = '' } = model;
  if (hasCloudTag({ provider, modelId })) {
    const message = 'the runtime sends this model to its vendor, though it is declared local';
    const remedy = 'Use a model that runs here, or declare it "locality": "cloud".';
    const code = isPrivate ? 'cloud_tag_private' : 'cloud_tag';
    problems.add(code, `${path}.model_id`, message, remedy);
  }
  if (isPrivate) checkPrivateAddress(model, path, problems);
}

/** This is only a warning, since svc finds the API at the shorter address, too. */
function checkUrlEnding(
  { provider, base_url: url }: ModelDraft,
  path: string,
  problems: ProblemList,
) {
  if (typeof url !== 'string' || provider === undefined || !(provider in endingsOfBase)) return;
  const plain = url.replace(/\/+$/, '');
  const shorter = plain.replace(endingsOfBase[provider], '');
  if (shorter === plain) return;
  const ending = plain.slice(shorter.length);
  const message = `this address ends in ${ending}, and svc adds the paths of the API by itself`;
  problems.add('base_url_ending', `${path}.base_url`, message, `Write ${shorter}.`);
}

/**
 * The context holds the prompt and the answer. This is only a warning, since svc keeps half of the
 * context for each.
 */
function checkOutputLimit(model: ModelDraft, path: string, problems: ProblemList): void {
  const { context_tokens: context, max_output_tokens: answer } = model;
  if (typeof context !== 'number' || typeof answer !== 'number' || answer < context) return;
  const message = `an answer may have ${answer} tokens, and the context is ${context} in all`;
  const remedy = 'Write a lower max_output_tokens, or a higher context_tokens.';
  problems.add('output_over_context', `${path}.max_output_tokens`, message, remedy);
}

/** It is an error only if the host is certainly public. Other names depend on the network. */
function checkPrivateAddress(model: ModelDraft, path: string, problems: ProblemList): void {
  const { provider, base_url: url } = model;
  if (provider === undefined || url === undefined) return;
  const host = parseWebAddress(url ?? defaultBaseUrl(provider))?.host;
  if (host === undefined || isLoopbackHost(host)) return;
  const remedy = 'Use an address of this machine, unless that machine is yours to trust.';
  if (isVendorHost(host) || rangeOf(host.replace(/^::ffff:(?=.*\.)/i, '')) === 'public') {
    const where = url === null ? `without base_url it is asked at ${host}` : `${host} is public`;
    const message = `a private brain has this model as local, but ${where}`;
    const publicRemedy = 'Write the base_url of a model that runs here, or declare it "cloud".';
    problems.add('private_far', `${path}.base_url`, message, publicRemedy);
  } else {
    const message = 'a private brain asks this model on another machine';
    problems.add('private_elsewhere', `${path}.base_url`, message, remedy);
  }
}

function checkOrder(
  brain: BrainDraft,
  models: readonly KnownModel[],
  path: string,
  problems: ProblemList,
): void {
  const order = brain.policy?.order ?? [];
  const indicesOf = modelMatcher(models);
  const modelsRemedy = (): string => {
    const names = models.slice(0, namesMax).map((model) => `${model.provider}/${model.modelId}`);
    return `Write a provider, a model id, or one of: ${shortList(names, models.length)}.`;
  };
  for (const [index, entry] of order.entries()) {
    if (entry === undefined || indicesOf(entry).length > 0) continue;
    const message = 'no model of this brain is meant by this';
    problems.add('order_unknown', `${path}.policy.order[${index}]`, message, modelsRemedy);
  }
  const ranked = rankModels(withoutUndefined(order), models);
  if (brain.dispatch !== 'sequential' || ranked.every((model, rank) => model === rank)) return;
  const message = 'sequential dispatch asks the models as they are listed, not in this order';
  const remedy = 'List the models in the order in which they are to be asked.';
  problems.add('order_not_asked', `${path}.policy.order`, message, remedy);
}

/**
 * Ollama loads a model again when a request has another `num_ctx` (ollama#11409). So one model at
 * one address needs one value in all brains. An absent value counts as a value.
 */
export function checkContexts({ brains }: DraftDocument, problems: ProblemList): void {
  const first = new Map<string, { readonly path: string; readonly tokens: number | null }>();
  for (const [at, brain] of (brains ?? []).entries()) {
    for (const [index, model] of (brain?.models ?? []).entries()) {
      const { provider, model_id: modelId, base_url: url, context_tokens: tokens } = model ?? {};
      if (provider !== 'local_runtime' || url === undefined || tokens === undefined) continue;
      const path = `brains[${at}].models[${index}]`;
      const place = (url ?? defaultBaseUrl(provider)).replace('localhost', '127.0.0.1');
      const key = `${modelId?.replace(/:latest$/, '')} ${place.replace(/\/+$/, '')}`.toLowerCase();
      const other = first.get(key);
      if (other === undefined) first.set(key, { path, tokens });
      else if (other.tokens !== tokens) {
        const message =
          `the runtime loads this model again at each change: here ${tokens ?? 'no'} ` +
          `context_tokens, in ${other.path} ${other.tokens ?? 'none'}`;
        const remedy = 'Write one value of context_tokens in both places.';
        problems.add('context_differs', `${path}.context_tokens`, message, remedy);
      }
    }
  }
}

/**
 * Before a call, svc compares the most that the call may use with the budget. So each model that
 * costs needs a limit. A private brain's cloud models do not count, since it never asks them.
 */
function checkBudget(brain: BrainDraft, path: string, problems: ProblemList): void {
  const { budget, models, sensitivity } = brain;
  if (!budget || models === undefined || models.includes(undefined)) return;
  if (Object.values(budget).every((bound) => bound === null)) return;
  let costing = 0;
  for (const [index, model] of (models as readonly ModelDraft[]).entries()) {
    if (model.locality === 'cloud' ? sensitivity === 'private' : model.price === null) continue;
    costing++;
    const where = `${path}.models[${index}]`;
    if (model.max_output_tokens === null) {
      const message =
        'this model costs, and the budget cannot hold while its answers have no limit';
      const remedy = 'Add "max_output_tokens", the most tokens that one answer may have.';
      problems.add('budget_unbounded', `${where}.max_output_tokens`, message, remedy);
    }
    if (model.price === null && budget.cost_per_day !== null) {
      const message = 'what this model costs counts for cost_per_day, and it has no price';
      const remedy = 'Add "price": {"input": …, "output": …}, for a million tokens.';
      problems.add('budget_without_price', `${where}.price`, message, remedy);
    }
  }
  if (costing > 0) return;
  const message = 'no model of this brain costs anything, so the budget bounds nothing';
  const remedy = 'Give its models a price, or remove the budget.';
  problems.add('budget_idle', `${path}.budget`, message, remedy);
}
