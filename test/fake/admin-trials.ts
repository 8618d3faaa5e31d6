/** Answers questions about configurations as the service does, with fixed answers. */
import type { ConfigTrials, Tried } from '../../src/admin/config-trials.ts';
import type { ModelName } from '../../src/domain/ids.ts';
import { answered, type Calls } from './admin-ledger.ts';

const model = 'local_runtime/llama3.2' as ModelName;

/** @param calls receives the arguments of each call */
export function fakeTrials(calls: Calls): ConfigTrials {
  const asked = <T>(answer: T, ...call: readonly unknown[]): T => {
    calls.push([...call]);
    return answer;
  };
  const lines = [
    { kind: 'ok', subject: 'WEBHOOK_SECRET', message: 'is set', remedy: null, refuses: false },
  ] as const;
  return {
    validate: async (text) => asked({ valid: true, problems: [] }, 'validate', text),
    preflight: async (text) => asked({ valid: true, problems: [], lines }, 'preflight', text),
    listModels: async (of) => asked({ names: ['llama3.2'], reason: null }, 'listModels', of),
    tryBrain: async (draft) => asked(tried, 'tryBrain', draft),
  };
}

const tried: Tried = {
  kind: 'tried',
  result: {
    decision: { kind: 'reply', text: answered, model },
    ms: 40,
    why: 'the first model by rank answered',
    trace: {
      acceptedAt: 1_000,
      claimedAt: 1_000,
      decidedAt: 1_040,
      brain: 'main',
      attempt: 1,
      outcome: 'reply',
      steps: [],
    },
    answers: [{ model, kind: 'answer', text: answered, ms: 40, failure: null, reason: null }],
    tools: [{ tool: 'calc', mode: 'allow', outcome: 'done', arguments: '{}', result: '2' }],
  },
};
