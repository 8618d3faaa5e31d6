/** What secrets are looked up with, made once a process: `src/main.ts` does it for commands. */
import type { KeychainLimits } from './keychain.ts';
import { Lookup } from '../secrets/lookup.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';

export type SecretSurroundings = {
  /** Nothing of it is told. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the paths in it begin. */
  readonly cwd: string;
  /** Where a person is told that the keychain waits for them, where it is a terminal. */
  readonly stderr: { readonly isTTY?: boolean; write(text: string): unknown };
  /** How long the keychain is waited for; left out: as long as it is usual. */
  readonly keychainLimits?: KeychainLimits | undefined;
};

export const askedToUnlock = 'The keychain may ask to be unlocked: look for its window.';

/** Over the environment and the keychain, which is loaded when a name stands nowhere else. */
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

/** The places beside the keychain, for who asks that in another way, and as they are now. */
export function createLookupBeside({
  env,
  cwd,
}: Pick<SecretSurroundings, 'env' | 'cwd'>): ServiceSecrets {
  return new Lookup({ env, cwd, keychain: null, now: Date.now });
}
