/** What people call providers and models; their names of the contract are for JSON alone. */
import type { ModelName } from './ids.ts';

/** Stands behind a text that its provider cut at a limit of its length. */
export const cutNotice = '[This answer was cut off: the model reached its limit of length.]';

/** By the API that it speaks: of whom it is, and where, its base_url alone tells. */
const providers: Readonly<Record<string, string>> = {
  local_runtime: 'Ollama',
  hosted_runtime: 'OpenAI API',
};

/** `local_runtime` → `Ollama`; a provider that is not known as it is written. */
export function describeProvider(provider: string): string {
  return (Object.hasOwn(providers, provider) ? providers[provider] : undefined) ?? provider;
}

/** `local_runtime/a` → `a`, where the provider is told already. */
export const formatModelId = (name: string): string => name.slice(name.indexOf('/') + 1);

/** `local_runtime/llama3.2` → `llama3.2 (Ollama)`. */
export function formatModelName(name: ModelName | string): string {
  const slash = name.indexOf('/');
  const provider = name.slice(0, slash);
  const said = describeProvider(provider);
  return said === provider ? name : `${name.slice(slash + 1)} (${said})`;
}

/** `local_runtime/llama3.2` → `llama3.2 on Ollama`, within brackets. */
export function describeModelOn(name: string): string {
  const provider = name.slice(0, name.indexOf('/'));
  const said = describeProvider(provider);
  return said === provider ? name : `${formatModelId(name)} on ${said}`;
}

/**
 * Whether the name of a local runtime's model says that its vendor runs it: a tag `cloud`, or one
 * that ends in `-cloud`. White space around the name and a digest after it change nothing.
 *
 * Source: cloud models of Ollama, docs/cloud.md of github.com/ollama/ollama.
 */
export function isCloudTag(modelId: string): boolean {
  const [name = ''] = modelId.split('@');
  return /:(?:.*-)?cloud$/is.test(name.trim());
}
