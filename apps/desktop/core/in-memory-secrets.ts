/**
 * Secrets that a person pasted where no keychain is: the shell has them in its memory alone, and
 * lends them to each core that it begins, by a pipe, so that no list of processes and no file has
 * them.
 */
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FoundSecret, FoundSecrets } from '../../../src/config/found-secret.ts';
import type { ServiceSecrets } from '../../../src/secrets/secrets.ts';

/** What the process reads; @see takeInMemory */
export function inMemoryText(values: ReadonlyMap<string, string>): string {
  return JSON.stringify(Object.fromEntries(values));
}

/** Those that stand nowhere else are found from now on, as if they were in the environment. */
export async function takeInMemory(
  stdin: Readable,
  lookup: Pick<ServiceSecrets, 'find' | 'hold'>,
  stop: AbortSignal,
): Promise<void> {
  const inMemory = parse(await text(stdin));
  const elsewhere: FoundSecrets = await lookup.find([...inMemory.keys()], stop);
  const held = new Map<string, FoundSecret>();
  for (const [name, value] of inMemory) {
    if (elsewhere.get(name)?.kind === 'value') continue;
    held.set(name, { kind: 'value', value, source: 'environment', unused: [] });
  }
  lookup.hold(held);
}

/** The shell is the same program; what a person pasted is shown by no error. */
function parse(json: string): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(JSON.parse(json) as Record<string, string>));
  } catch {
    return new Map();
  }
}
