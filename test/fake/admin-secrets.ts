/** The secrets of the admin API's tests: one in use, one in the keychain. */
import type { SecretControl } from '../../src/admin/secret-control.ts';
import { ids, type Calls } from './admin-ledger.ts';

/** @param calls receives the arguments, with values; rows have more fields than their type */
export function fakeSecrets(calls: Calls): SecretControl {
  const more = { value: 'of nobody' };
  const presence = { ...more, source: 'keychain', inKeychain: true } as const;
  return {
    list: async () => ({
      rows: [
        { ...presence, name: ids.variable, usedAt: ['channels[0].token_env'], restart: true },
        { ...presence, name: 'NOT_SET', source: 'missing', usedAt: [], restart: false },
      ],
      store: {
        ...more,
        kind: 'secret_service',
        state: 'locked',
        message: 'It is locked.',
        remedy: 'Unlock it.',
      },
    }),
    presence: async (names) => {
      calls.push(['presence', names]);
      return names.map((name) => ({ ...presence, name }));
    },
    set: async (name, value) => {
      calls.push(['secret_set', name, value]);
      return { kind: 'done' };
    },
    delete: async (name) => {
      calls.push(['secret_deleted', name]);
      return { kind: name === ids.variable ? 'done' : 'not_found' };
    },
  };
}
