/** Looks for secrets in all places but the keychain, which a test leaves alone. */
import { Lookup } from '../../src/secrets/lookup.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function createLookupBeside({ env, cwd }: { readonly env: Env; readonly cwd: string }) {
  return new Lookup({ env, cwd, keychain: null, now: Date.now });
}
