import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelConfig } from '../../config/config.ts';
import type { EnvName } from '../../config/secret-value.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { CallBounds } from './build-model.ts';

const deadlines = createDeadlines();

function configOf(inFlightMax: number, more: Partial<ModelConfig> = {}): ModelConfig {
  return {
    provider: 'local_runtime',
    modelId: 'llama3',
    locality: 'local',
    baseUrl: 'http://127.0.0.1:11434',
    apiKeyEnv: null,
    timeoutMs: 1_000,
    retriesMax: 0,
    inFlightMax,
    outputTokensMax: null,
    contextTokens: null,
    price: null,
    vision: null,
    ...more,
  };
}

test('a model has one bound over plans and brains; one that differs has its own', () => {
  const bounds = new CallBounds();
  const bound = bounds.of(configOf(7), deadlines);
  assert.equal(bounds.of(configOf(3, { retriesMax: 2 }), deadlines), bound);
  const others: Partial<ModelConfig>[] = [
    { modelId: 'qwen3' },
    { baseUrl: 'http://127.0.0.1:11435' },
    { apiKeyEnv: 'A_KEY' as EnvName },
    { provider: 'hosted_runtime' },
  ];
  for (const other of others) {
    assert.notEqual(bounds.of(configOf(7, other), deadlines), bound, JSON.stringify(other));
  }
  assert.deepEqual([...bounds.loads.keys()], ['local_runtime', 'hosted_runtime']);
});

test('a configuration changes no limit until it is used; the lowest holds', () => {
  const bounds = new CallBounds();
  const bound = bounds.of(configOf(7), deadlines);
  bounds.of(configOf(3), deadlines);
  assert.equal(bound.size.bound, 7);
  bounds.hold([configOf(4), configOf(3), configOf(9), configOf(1, { modelId: 'qwen3' })]);
  assert.equal(bound.size.bound, 3);
  bounds.hold([configOf(9)]);
  assert.equal(bound.size.bound, 9);
});

test('instances share a limit, and each of them may make one call', () => {
  const bounds = new CallBounds();
  const bound = bounds.of(configOf(7), deadlines);
  bounds.hold([configOf(7)], 3);
  assert.equal(bound.size.bound, 2);
  bounds.hold([configOf(7)], 8);
  assert.equal(bound.size.bound, 1);
  bounds.hold([configOf(7)]);
  assert.equal(bound.size.bound, 7);
});
