/**
 * Secrets that a person pasted on a machine without a keychain. The shell holds them only in
 * memory, and passes them to each core through a pipe. So no process list and no file has them.
 */
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { SecretLookupResult, SecretLookupResults } from '../../../src/config/found-secret.ts';
import type { ServiceSecrets } from '../../../src/secrets/secrets.ts';

/** The text that the core reads; @see takeInMemory */
export function inMemoryText(values: ReadonlyMap<string, string>): string {
  return JSON.stringify(Object.fromEntries(values));
}

/**
 * Makes the lookup find these secrets from now on, as if they were in the environment. A value that
 * the lookup already finds elsewhere takes precedence.
 */
export async function takeInMemory(
  stdin: Readable,
  lookup: Pick<ServiceSecrets, 'find' | 'hold'>,
  stop: AbortSignal,
): Promise<void> {
  const inMemory = parse(await text(stdin));
  const elsewhere: SecretLookupResults = await lookup.find([...inMemory.keys()], stop);
  const held = new Map<string, SecretLookupResult>();
  for (const [name, value] of inMemory) {
    if (elsewhere.get(name)?.kind === 'value') continue;
    held.set(name, { kind: 'value', value, source: 'environment', unused: [] });
  }
  lookup.hold(held);
}

/**
 * The shell is the same program, so nothing checks the values. No error may show a pasted secret.
 */
function parse(json: string): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(JSON.parse(json) as Record<string, string>));
  } catch {
    return new Map();
  }
}
