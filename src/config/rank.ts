/** The order of a brain's models, and which models and hosts certainly send texts to a vendor. */
import { isCloudTag } from '../domain/model-words.ts';
import { providerSynonyms } from './schema.ts';

/** The facts about a model that rank and privacy need. */
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
  const indicesOf = modelMatcher(models);
  for (const entry of new Set(order)) for (const index of indicesOf(entry)) ranked.add(index);
  for (const index of models.keys()) ranked.add(index);
  return [...ranked];
}

/** @returns a function from an entry of an order to the indices of the models that it names */
export function modelMatcher(models: readonly Ranked[]): (entry: string) => readonly number[] {
  const indices = [...models.keys()];
  const byId = Map.groupBy(indices, (index) => models[index]!.modelId);
  const byProvider = Map.groupBy(indices, (index) => models[index]!.provider);
  const byBoth = Map.groupBy(indices, (index) => {
    const { provider, modelId } = models[index]!;
    return `${provider}/${modelId}`;
  });
  const synonyms: Readonly<Record<string, string>> = providerSynonyms;
  return (entry) => {
    const slash = entry.indexOf('/');
    const first = slash < 0 ? entry : entry.slice(0, slash);
    const provider = Object.hasOwn(synonyms, first) ? synonyms[first]! : first;
    const ofProvider =
      slash < 0 ? byProvider.get(provider) : byBoth.get(`${provider}${entry.slice(slash)}`);
    const named = byId.get(entry);
    if (named === undefined || ofProvider === undefined) return named ?? ofProvider ?? [];
    return [...new Set([...named, ...ofProvider])].sort((a, b) => a - b);
  };
}

/** Whether the runtime sends this model's requests to a vendor, even if it is declared local. */
export function hasCloudTag({ provider, modelId }: Ranked): boolean {
  return provider === 'local_runtime' && isCloudTag(modelId);
}

/**
 * Hosts of vendors that run models for others. A text sent there has left your machines, even if
 * the model is declared local. Clouds where people run their own models are not in the list.
 */
const vendorHosts = [
  'api.anthropic.com',
  'api.cerebras.ai',
  'api.cohere.com',
  'api.deepinfra.com',
  'api.deepseek.com',
  'api.fireworks.ai',
  'api.groq.com',
  'api.mistral.ai',
  'api.openai.com',
  'api.perplexity.ai',
  'api.together.ai',
  'api.together.xyz',
  'api.x.ai',
  'generativelanguage.googleapis.com',
  'integrate.api.nvidia.com',
  'ollama.com',
  'openrouter.ai',
  'router.huggingface.co',
];

/** Whether a host is a known vendor's, or a subdomain of one. */
export function isVendorHost(host: string): boolean {
  // As browsers and servers read a host: compatible letters are equal, and so are both cases.
  const name = host.normalize('NFKC').toLowerCase().replace(/\.$/, '');
  return vendorHosts.some((vendor) => name === vendor || name.endsWith(`.${vendor}`));
}
