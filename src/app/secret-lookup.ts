/** Creates the lookup of secrets, once a process. `src/main.ts` does it for commands. */
import type { KeychainLimits } from './keychain.ts';
import { Lookup } from '../secrets/lookup.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';

export type SecretSurroundings = {
  /** The environment. svc logs and shows none of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative paths in the environment start. */
  readonly cwd: string;
  /** Where a person reads that the keychain waits for them, if it is a terminal. */
  readonly stderr: { readonly isTTY?: boolean; write(text: string): unknown };
  /** How long to wait for the keychain; left out: the usual time. */
  readonly keychainLimits?: KeychainLimits | undefined;
};

export const askedToUnlock = 'The keychain may ask to be unlocked: look for its window.';

/**
 * Looks in the environment and then in the keychain, which loads only for a name found nowhere
 * else.
 */
export function createSecretLookup(surroundings: SecretSurroundings): ServiceSecrets {
  const { env, cwd, stderr, keychainLimits: limits } = surroundings;
  const atTerminal = stderr.isTTY === true;
  const prompting = (): void => {
    if (atTerminal) stderr.write(`${askedToUnlock}\n`);
  };
  const keychain = async () => {
    const { openKeychain } = await import('./keychain.ts');
    return openKeychain({ env, atTerminal, prompting, limits });
  };
  return new Lookup({ env, cwd, keychain, now: Date.now });
}
