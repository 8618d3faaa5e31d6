/** Senders admitted by a pairing code, for the tests of the admin API. */
import type { Admissions, Pairing } from '../../src/domain/gate.ts';
import { ids, type Calls } from './admin-ledger.ts';

/** One sender, admitted by a code. */
export function fakePairings(calls: Calls): Admissions {
  const pairing: Pairing = {
    channel: 'messenger_a',
    sender: ids.sender,
    name: 'Ada',
    state: 'admitted',
    at: 1_000,
  };
  return {
    list: async () => {
      calls.push(['list']);
      return [Object.assign({ ...pairing, code: ids.code })];
    },
    admit: async (code) => {
      calls.push(['admit', code]);
      return code === ids.code ? { kind: 'admitted', pairing } : { kind: 'not_found' };
    },
    remove: async (where, sender) => {
      calls.push(['remove', where, sender]);
      return sender === ids.sender ? 'done' : 'not_found';
    },
  };
}
