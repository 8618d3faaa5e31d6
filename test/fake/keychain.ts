/** A keychain in memory, and a look-up of names, which keep the contracts of src/secrets. */
import {
  secretSources,
  type SecretLookupResult,
  type SecretLookupResults,
  type SecretSource,
} from '../../src/config/found-secret.ts';
import type { Keychain, ServiceSecrets, KeychainFault } from '../../src/secrets/secrets.ts';
import type { KeychainState } from '../../src/domain/keychain-state.ts';

export type FakeKeychain = Keychain & {
  readonly values: Map<string, { readonly value: string; readonly setAt: number }>;
  /** The calls in order, without values. */
  readonly calls: string[];
  now: KeychainState;
  /** Names in its list whose value the store has lost. */
  readonly lost: Set<string>;
  /** While set, each call of the store waits for it. */
  hold: Promise<void> | null;
  clockMs: number;
};

export function fakeKeychain(now: KeychainState = 'ready'): FakeKeychain {
  const values: FakeKeychain['values'] = new Map();
  const asked = async (call: string): Promise<KeychainFault | null> => {
    keychain.calls.push(call);
    await keychain.hold;
    return keychain.now === 'ready' ? null : faultIn(keychain.now);
  };
  const keychain: FakeKeychain = {
    values,
    calls: [],
    now,
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

export type FakeLookup = Pick<ServiceSecrets, 'find' | 'foundAt' | 'places'> & {
  /** The names looked up, in order. */
  readonly asked: string[];
};

type Places = Readonly<Record<string, SecretSource | 'unreadable'>>;

/**
 * @param held the values of the process, and their places
 * @param since when, milliseconds since 1970
 * @param other values in other places
 */
export function fakeLookup(held: Places, since: number, other: Places = {}): FakeLookup {
  const asked: string[] = [];
  return {
    asked,
    foundAt: (name) => (Object.hasOwn(held, name) ? since : null),
    async find(names): Promise<SecretLookupResults> {
      asked.push(...names);
      return new Map(names.map((name) => [name, foundIn(held, name)]));
    },
    async places(name) {
      const place = Object.hasOwn(other, name) ? other[name] : undefined;
      return secretSources.map((source) => {
        const isBroken = source === 'file' && place === 'unreadable';
        const state = isBroken ? 'unreadable' : place === source ? 'value' : 'absent';
        return { source, text: `${name} in ${source}`, state };
      });
    },
  };
}

function foundIn(places: Places, name: string): SecretLookupResult {
  const source = Object.hasOwn(places, name) ? places[name] : undefined;
  if (source === undefined || source === 'unreadable') return { kind: 'missing', looked: [] };
  return { kind: 'value', value: `a canary of ${name}`, source, unused: [] };
}

/** Its values, by name. */
export function keptIn({ values }: FakeKeychain): ReadonlyMap<string, string> {
  return new Map([...values].map(([name, { value }]) => [name, value]));
}
