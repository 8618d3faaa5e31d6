import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notYet } from './unsupported.ts';
import { rankModels } from './rules.ts';
import { schema } from './schema.ts';
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

test('what this version cannot run yet is named, and nothing else', () => {
  const model = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
  const brain = {
    name: 'a',
    sensitivity: 'private',
    policy: { kind: 'priority' },
    models: [model],
  };
  const hook = { type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://a.test' } };
  const notYetOf = (more: object): readonly string[] => {
    const routes = [{ channel: 'webhook', brain: 'a' }];
    const document = { channels: [hook], brains: [brain], routes, storage: {}, ...more };
    const validation = validateText(JSON.stringify(document));
    assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
    return notYet(validation.config);
  };
  assert.deepEqual(notYetOf({ admin: { token_env: 'A' } }), []);
  const agent = { tools: ['time'] };
  assert.deepEqual(notYetOf({ brains: [{ ...brain, agent }] }), []);
  assert.match(notYetOf({ storage: { url_env: 'U' } }).join('\n'), /^A database server .*\.$/);
  // Where the field is described and offered, too.
  assert.match(schema.fields.storage.fields.url_env.description, /cannot use it yet\.$/);
});
