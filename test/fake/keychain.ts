/** A keychain in memory, and a look-up of names, as the contracts of src/secrets promise them. */
import type { FoundSecret, FoundSecrets, SecretSource } from '../../src/config/found-secret.ts';
import type { HeldSecrets, Keychain, SecretLookup } from '../../src/secrets/secrets.ts';
import type { KeychainFault, KeychainState } from '../../src/secrets/secrets.ts';

export type FakeKeychain = Keychain & {
  readonly values: Map<string, { readonly value: string; readonly setAt: number }>;
  /** What was asked of it, in order; no value. */
  readonly calls: string[];
  now: KeychainState;
  /** What is in its list, and no more in its store. */
  readonly lost: Set<string>;
  /** While it is there, each call of the store waits for it. */
  hold: Promise<void> | null;
  clockMs: number;
};

export function fakeKeychain(): FakeKeychain {
  const values: FakeKeychain['values'] = new Map();
  const asked = async (call: string): Promise<KeychainFault | null> => {
    keychain.calls.push(call);
    await keychain.hold;
    return keychain.now === 'ready' ? null : faultIn(keychain.now);
  };
  const keychain: FakeKeychain = {
    values,
    calls: [],
    now: 'ready',
    lost: new Set(),
    hold: null,
    clockMs: 2_000_000,
    stored: async () => ({
      kind: 'stored',
      secrets: [...values].map(([name, { setAt }]) => ({ name, setAt })),
    }),
    async state() {
      await asked('state');
      return keychain.now;
    },
    async holds(names) {
      const fault = await asked('holds');
      if (fault !== null && fault.state !== 'locked') return fault;
      const there = names.filter((name) => values.has(name) && !keychain.lost.has(name));
      return { kind: 'held', names: new Set(there) };
    },
    async read(names) {
      const fault = await asked(`read ${names.join(' ')}`);
      if (fault !== null) return fault;
      const found = names.flatMap((name) => {
        const one = values.get(name);
        return one === undefined ? [] : [[name, one.value] as const];
      });
      return { kind: 'read', values: new Map(found) };
    },
    async set(name, value) {
      const fault = await asked(`set ${name}`);
      if (fault !== null) return fault;
      values.set(name, { value, setAt: keychain.clockMs });
      return { kind: 'done' };
    },
    async delete(name) {
      const fault = await asked(`delete ${name}`);
      if (fault !== null) return fault;
      return { kind: values.delete(name) ? 'done' : 'absent' };
    },
  };
  return keychain;
}

function faultIn(state: KeychainFault['state']): KeychainFault {
  return { kind: 'fault', state, ...explained(state) };
}

export function explained(state: KeychainState) {
  return { message: `It is ${state}.`, remedy: `Mend ${state}.` };
}

export type FakeLookup = SecretLookup & HeldSecrets & { readonly asked: string[] };

/** @param places what stands where; @param heldSince of those that the process has by now */
export function fakeLookup(
  places: Readonly<Record<string, SecretSource>>,
  heldSince: Readonly<Record<string, number>> = {},
): FakeLookup {
  const asked: string[] = [];
  return {
    asked,
    foundAt: (name) => (Object.hasOwn(heldSince, name) ? heldSince[name]! : null),
    async find(names): Promise<FoundSecrets> {
      asked.push(...names);
      return new Map(names.map((name) => [name, foundIn(places, name)]));
    },
  };
}

function foundIn(places: Readonly<Record<string, SecretSource>>, name: string): FoundSecret {
  const source = Object.hasOwn(places, name) ? places[name] : undefined;
  if (source === undefined) return { kind: 'missing', looked: [] };
  return { kind: 'value', value: `a canary of ${name}`, source, unused: [] };
}
