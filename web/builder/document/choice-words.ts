/** Names of the contract in lists to choose from, beside what people call the thing. */
import { findKind } from '../../../src/channel/kinds.ts';
import { sayProvider } from '../../../src/domain/model-words.ts';

/** `local_runtime` → `Ollama (local_runtime)`; a name that has no other stays alone. */
export function choiceOf(name: string): string {
  const said = findKind(name)?.name ?? sayProvider(name);
  return said.toLowerCase() === name ? said : `${said} (${name})`;
}
