import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rankModels } from './rank.ts';
import { validateText } from './validate.ts';

const models = [
  { provider: 'local_runtime', modelId: 'llama3' },
  { provider: 'hosted_runtime', modelId: 'openai/gpt-oss' },
  { provider: 'local_runtime', modelId: 'qwen3' },
  { provider: 'hosted_runtime', modelId: 'big' },
];

test('an order ranks models by provider, by model id, or by both; the rest come as listed', () => {
  const cases = [
    [[], [0, 1, 2, 3]],
    [['hosted_runtime'], [1, 3, 0, 2]],
    [['openai'], [1, 3, 0, 2]],
    [['qwen3'], [2, 0, 1, 3]],
    [
      ['big', 'local_runtime/qwen3'],
      [3, 2, 0, 1],
    ],
    [
      ['ollama/qwen3', 'ollama', 'big'],
      [2, 0, 3, 1],
    ],
    [['openai/gpt-oss'], [1, 0, 2, 3]],
    [['hosted_runtime/openai/gpt-oss'], [1, 0, 2, 3]],
    [
      ['openai/big', 'openai/big'],
      [3, 0, 1, 2],
    ],
    [
      ['constructor', 'local_runtime/big', ''],
      [0, 1, 2, 3],
    ],
  ] as const;
  for (const [order, ranked] of cases) {
    assert.deepEqual(rankModels(order, models), ranked, order.join(', '));
  }
  assert.deepEqual(rankModels(['big'], []), []);
});

test('a file and a server exclude each other, and each alone is all that is to be said', () => {
  const model = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
  const policy = { kind: 'priority' };
  const brain = { name: 'a', sensitivity: 'private', policy, models: [model] };
  const hook = { type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://a.test' } };
  const problemsOf = (storage: object): readonly (readonly [string, string, string])[] => {
    const routes = [{ channel: 'webhook', brain: 'a' }];
    const document = { channels: [hook], brains: [brain], routes, storage };
    const { problems } = validateText(JSON.stringify(document));
    return problems
      .filter(({ path }) => path.startsWith('storage'))
      .map(({ severity, code, path }) => [severity, code, path]);
  };
  for (const alone of [{}, { path: 'a.db' }, { url_env: 'U' }, { path: '', url_env: 'U' }]) {
    assert.deepEqual(problemsOf(alone), [], JSON.stringify(alone));
  }
  const both = problemsOf({ path: 'a.db', url_env: 'U' });
  assert.deepEqual(both, [['error', 'storage_twice', 'storage.url_env']]);
});

test('one model at one address has one context, and what differs is no other model', () => {
  const contextsOf = (...all: readonly object[]): readonly string[] => {
    const brains = all.map((model, index) => ({
      name: `b${index}`,
      sensitivity: 'public',
      policy: { kind: 'priority' },
      models: [{ provider: 'local_runtime', model_id: 'm', locality: 'local', ...model }],
    }));
    const { problems } = validateText(JSON.stringify({ channels: [], brains, routes: [] }));
    return problems.filter(({ code }) => code === 'context_differs').map(({ path }) => path);
  };
  const second = ['brains[1].models[0].context_tokens'];
  assert.deepEqual(contextsOf({ context_tokens: 4_096 }, { context_tokens: 8_192 }), second);
  assert.deepEqual(contextsOf({ context_tokens: 4_096 }, {}), second);
  assert.deepEqual(contextsOf({}, { context_tokens: 4_096 }), second);
  assert.deepEqual(contextsOf({ context_tokens: 4_096 }, { context_tokens: 4_096 }), []);
  const far = { base_url: 'http://10.0.0.2:11434', context_tokens: 8_192 };
  assert.deepEqual(contextsOf({ context_tokens: 4_096 }, far), []);
  assert.deepEqual(contextsOf({ context_tokens: 4_096 }, { model_id: 'n' }), []);
  // A hosted runtime gets no context size, so it loads nothing again.
  const hosted = { provider: 'hosted_runtime', base_url: 'http://127.0.0.1:1' };
  const [one, two] = [4_096, 8_192].map((tokens) => ({ ...hosted, context_tokens: tokens }));
  assert.deepEqual(contextsOf(one!, two!), []);
});
