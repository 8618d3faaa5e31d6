import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelConfig } from '../config/config.ts';
import { createDeadlines } from '../lib/deadlines.ts';
import { CallBounds } from '../brains/models/build-model.ts';
import { createAlone } from '../cluster/alone.ts';
import { SharedBounds } from './run.ts';

const config: ModelConfig = {
  provider: 'local_runtime',
  modelId: 'llama3',
  locality: 'local',
  baseUrl: 'http://127.0.0.1:11434',
  apiKeyEnv: null,
  timeoutMs: 1_000,
  retriesMax: 0,
  inFlightMax: 8,
  outputTokensMax: null,
  contextTokens: null,
  price: null,
  vision: null,
};

test('the limits of the configuration in use are shared anew when instances come and go', () => {
  const bounds = new CallBounds();
  const bound = bounds.of(config, createDeadlines());
  let share = 2;
  const listeners = new Set<() => void>();
  const change = (to: number): void => {
    share = to;
    for (const changed of listeners) changed();
  };
  const shared = new SharedBounds(bounds, {
    ...createAlone(),
    limitShare: () => share,
    onChange(changed) {
      listeners.add(changed);
      return () => void listeners.delete(changed);
    },
  });
  change(3);
  assert.equal(bound.size.bound, 8, 'no plan is in use yet');
  shared.use([config]);
  assert.equal(bound.size.bound, 2);
  change(1);
  assert.equal(bound.size.bound, 8);
  shared.use([{ ...config, inFlightMax: 4 }]);
  change(2);
  assert.equal(bound.size.bound, 2);
  shared[Symbol.dispose]();
  assert.equal(listeners.size, 0);
});
