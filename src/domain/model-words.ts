import type { ModelName } from './ids.ts';

/** By what a provider's API is called elsewhere. */
const providers: Readonly<Record<string, string>> = {
  local_runtime: 'Ollama',
  hosted_runtime: 'OpenAI API',
};

/** `local_runtime/llama3.2` → `llama3.2 (Ollama)`. */
export function sayModelName(name: ModelName): string {
  const slash = name.indexOf('/');
  const provider = name.slice(0, slash);
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return known === undefined ? name : `${name.slice(slash + 1)} (${known})`;
}
