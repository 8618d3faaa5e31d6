/** What secrets are looked up with, made once a process: `src/main.ts` does it for commands. */
import { Lookup } from './secrets/lookup.ts';
import type { ServiceSecrets } from './secrets/secrets.ts';

export type AtTerminal = {
  /** Whether a person is at a terminal of this process. */
  readonly atTerminal: boolean;
  /** Is called when the keychain may be waiting for a person. */
  readonly prompting: () => void;
};

export const askedToUnlock = 'The keychain may ask to be unlocked: look for its window.';

/**
 * @param env nothing of it is told
 * @param cwd where the paths in it begin
 */
export function createSecretLookup(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  person: AtTerminal = { atTerminal: false, prompting: () => {} },
): ServiceSecrets {
  const keychain = async () => (await import('./keychain.ts')).openKeychain({ env, ...person });
  return new Lookup({ env, cwd, keychain, now: Date.now });
}
