import { providerSynonyms } from './schema-brain.ts';

/** A model as far as rank and privacy are concerned. */
export type KnownModel = {
  readonly provider: string;
  readonly modelId: string;
  readonly locality: 'local' | 'cloud';
};

type Ranked = Pick<KnownModel, 'provider' | 'modelId'>;

/**
 * Turns `policy.order` into an order of the models.
 * @param order entries, best first: a provider, a model id, or `provider/model_id`
 * @returns indices of the models, best first; those that the order leaves out come last, as listed
 */
export function rankModels(order: readonly string[], models: readonly Ranked[]): readonly number[] {
  const ranked = new Set<number>();
  for (const entry of order) {
    for (const [index, model] of models.entries()) if (isNamedBy(entry, model)) ranked.add(index);
  }
  for (const index of models.keys()) ranked.add(index);
  return [...ranked];
}

/** Whether an entry of an order means this model. */
export function isNamedBy(entry: string, { provider, modelId }: Ranked): boolean {
  if (entry === modelId) return true;
  const slash = entry.indexOf('/');
  const first = slash < 0 ? entry : entry.slice(0, slash);
  const synonyms: Readonly<Record<string, string>> = providerSynonyms;
  const meant = Object.hasOwn(synonyms, first) ? synonyms[first] : first;
  return meant === provider && (slash < 0 || entry.slice(slash + 1) === modelId);
}

/** Its runtime sends this model to its vendor, whatever its locality is declared to be. */
export function hasCloudTag({ provider, modelId }: Ranked): boolean {
  return provider === 'local_runtime' && /:(?:[^:]*-)?cloud$/i.test(modelId);
}
