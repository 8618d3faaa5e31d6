/** What things are called in lists to choose from. */
import { findKind } from '../../../src/channel/kinds.ts';
import { sayProvider } from '../../../src/domain/model-words.ts';

/** `local_runtime` → `Ollama`; a name that people have no other for stays as it is. */
export function choiceOf(name: string): string {
  return findKind(name)?.name ?? sayProvider(name);
}
