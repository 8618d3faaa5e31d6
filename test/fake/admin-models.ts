/** Probes models as the service does: one exists, all others do not. */
import type { ModelProbes } from '../../src/admin/model-probes.ts';
import type { ModelName } from '../../src/domain/ids.ts';
import type { Calls } from './admin-ledger.ts';

const model = 'local_runtime/llama3.2' as ModelName;

/** @param calls receives the arguments of each call */
export function fakeLooks(calls: Calls): ModelProbes {
  return {
    probe: async (name) => {
      calls.push(['look', name]);
      if (name !== model) return { kind: 'none' };
      const failure = { kind: 'not_found', detail: 'It is not there.' } as const;
      const address = 'http://127.0.0.1:11434';
      return {
        kind: 'looked',
        probe: { model, address, keyEnv: null, failure, others: ['qwen3:4b'] },
      };
    },
  };
}
