/** Words that people use for the names of the contract, for lists of choices. */
import { findKind } from '../../../src/channels/registry.ts';
import { describeProvider } from '../../../src/domain/model-words.ts';

const asks: Readonly<Record<string, string>> = { fanout: 'all at once', sequential: 'in turn' };

/** `local_runtime` → `Ollama`; a name without a word of its own stays as it is. */
export function choiceOf(name: string): string {
  return findKind(name)?.name ?? asks[name] ?? describeProvider(name);
}

/** Replaces names of the contract within a sentence of the schema. */
export function inPlainWords(text: string): string {
  const twice = /`(\w+)` is (\w+)/g;
  return text
    .replace(twice, (as, name: string, said: string) => (choiceOf(name) === said ? said : as))
    .replace(/`(\w+)`/g, (as, name: string) => (choiceOf(name) === name ? as : choiceOf(name)));
}
