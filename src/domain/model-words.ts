/** The names of providers and models as people read them. JSON uses the names of the contract. */
import type { ModelName } from './ids.ts';

const cutNotice = '[This answer was cut off: the model reached its limit of length.]';

/** Tells the person that the provider cut the text at a limit of its length. */
export const withCutNotice = (text: string): string => `${text}\n\n${cutNotice}`;

/**
 * Provider names by the API that a provider speaks. Only its base_url tells its owner and place.
 */
const providers: Readonly<Record<string, string>> = {
  local_runtime: 'Ollama',
  hosted_runtime: 'OpenAI API',
};

/** `local_runtime` → `Ollama`; an unknown provider stays as it is. */
export function describeProvider(provider: string): string {
  return (Object.hasOwn(providers, provider) ? providers[provider] : undefined) ?? provider;
}

/** `local_runtime/a` → `a`, for places that already name the provider. */
export const formatModelId = (name: string): string => name.slice(name.indexOf('/') + 1);

/** `local_runtime/llama3.2` → `llama3.2 (Ollama)`. */
export function formatModelName(name: ModelName | string): string {
  const slash = name.indexOf('/');
  const provider = name.slice(0, slash);
  const label = describeProvider(provider);
  return label === provider ? name : `${name.slice(slash + 1)} (${label})`;
}

/** `local_runtime/llama3.2` → `llama3.2 on Ollama`, for use within brackets. */
export function describeModelOn(name: string): string {
  const provider = name.slice(0, name.indexOf('/'));
  const label = describeProvider(provider);
  return label === provider ? name : `${formatModelId(name)} on ${label}`;
}

/**
 * Whether the name of a local runtime's model says that its vendor runs it: a tag `cloud`, or one
 * that ends in `-cloud`. White space around the name and a digest after it do not matter.
 *
 * Source: cloud models of Ollama, docs/cloud.md of github.com/ollama/ollama.
 */
export function isCloudTag(modelId: string): boolean {
  const [name = ''] = modelId.split('@');
  return /:(?:.*-)?cloud$/is.test(name.trim());
}
