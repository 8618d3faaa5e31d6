/** A keychain in memory, in whatever state it is to be. */
import type { Keychain, KeychainState } from '../../src/secrets/secrets.ts';

/** @param kept gets what is stored */
export function fakeKeychain(state: KeychainState, kept: Map<string, string>): Keychain {
  const done = { kind: 'done' } as const;
  return {
    stored: () => Promise.resolve({ kind: 'stored', secrets: [] }),
    holds: () => Promise.resolve({ kind: 'held', names: new Set() }),
    state: () => Promise.resolve(state),
    read: () => Promise.resolve({ kind: 'read', values: kept }),
    set(name, value) {
      kept.set(name, value);
      return Promise.resolve(done);
    },
    delete: () => Promise.resolve(done),
  };
}
