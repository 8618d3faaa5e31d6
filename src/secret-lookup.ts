/** What secrets are looked up with, made once a process: `src/main.ts` does it for commands. */
import { Lookup } from './secrets/lookup.ts';
import type { ServiceSecrets } from './secrets/secrets.ts';

/**
 * @param env nothing of it is told
 * @param cwd where the paths in it begin
 */
export function createSecretLookup(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): ServiceSecrets {
  return new Lookup({ env, cwd, keychain: null, now: Date.now });
}
