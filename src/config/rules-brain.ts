/** What a brain's models, policy and dispatch mean together. */
import { isLoopbackHost, parseWebAddress } from './address.ts';
import { defaultBaseUrl } from './parse.ts';
import { listed, namesMax } from './name-list.ts';
import type { ProblemList } from './problems.ts';
import { finderIn, hasCloudTag, rankModels } from './rank.ts';
import type { KnownModel } from './rank.ts';
import { checkAgent } from './rules-agent.ts';
import type { BrainDraft, DraftDocument } from './schema.ts';

type ModelDraft = NonNullable<NonNullable<BrainDraft['models']>[number]>;

/** Adds what is wrong with one brain. */
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
  const ranked = checkRank(brain, path, problems);
  if (brain.agent) checkAgent(brain.agent, { brain, path, ranked }, document, problems);
}

/** @returns the models that the brain may ask, best first; none when one could not be read */
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
  return rankModels(known(brain.policy?.order), usable).map((index) => usable[index]!);
}

function isLocal(model: KnownModel): boolean {
  return model.locality === 'local';
}

function known<T>(list: readonly (T | undefined)[] | undefined): readonly T[] {
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
  if (model.locality !== 'local') return;
  const isPrivate = brain.sensitivity === 'private';
  const { provider = '', model_id: modelId = '' } = model;
  if (hasCloudTag({ provider, modelId })) {
    const message = 'the runtime sends this model to its vendor, though it is declared local';
    const remedy = 'Use a model that runs here, or declare it "locality": "cloud".';
    const code = isPrivate ? 'cloud_tag_private' : 'cloud_tag';
    problems.add(code, `${path}.model_id`, message, remedy);
  }
  if (!isPrivate || model.provider === undefined || model.base_url === undefined) return;
  const address = parseWebAddress(model.base_url ?? defaultBaseUrl(model.provider));
  if (address === null || isLoopbackHost(address.host)) return;
  const message = 'a private brain asks this model on another machine';
  const remedy = 'Use an address of this machine, unless that machine is yours to trust.';
  problems.add('private_elsewhere', `${path}.base_url`, message, remedy);
}

function checkOrder(
  brain: BrainDraft,
  models: readonly KnownModel[],
  path: string,
  problems: ProblemList,
): void {
  const order = brain.policy?.order ?? [];
  const meantBy = finderIn(models);
  const oneOf = (): string => {
    const names = models.slice(0, namesMax).map((model) => `${model.provider}/${model.modelId}`);
    return `Write a provider, a model id, or one of: ${listed(names, models.length)}.`;
  };
  for (const [index, entry] of order.entries()) {
    if (entry === undefined || meantBy(entry).length > 0) continue;
    const message = 'no model of this brain is meant by this';
    problems.add('order_unknown', `${path}.policy.order[${index}]`, message, oneOf);
  }
  const ranked = rankModels(known(order), models);
  if (brain.dispatch !== 'sequential' || ranked.every((model, rank) => model === rank)) return;
  const message = 'sequential dispatch asks the models as they are listed, not in this order';
  const remedy = 'List the models in the order in which they are to be asked.';
  problems.add('order_not_asked', `${path}.policy.order`, message, remedy);
}
