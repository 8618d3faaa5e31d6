import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelName } from './ids.ts';
import type { Try } from './outcome.ts';
import { describeReuse, describeSpentIn, usageOfSteps, type TraceStep } from './trace.ts';

type ModelStep = Extract<TraceStep, { kind: 'model' }>;

function call(tries: readonly Try[], more: object = {}): ModelStep {
  const model = 'hosted_runtime/big' as ModelName;
  const where = { model, rank: 0, startMs: 0, ms: 1 };
  return {
    kind: 'model',
    ...where,
    result: 'answer',
    tries,
    linesDropped: 0,
    usage: null,
    ...more,
  };
}

const tried = (input: number, output: number, estimated = false): Try => {
  return { startedAt: 0, ms: 1, failed: null, tokens: { input, output, estimated } };
};

test('what every call used is told: of losers and retries, too, and that it is estimated', () => {
  const first = call([tried(1_000, 0, true), tried(1_000, 80)], { cost: '0.1' });
  const second = call([tried(7, 3)], { result: 'outranked', cost: '0.02' });
  assert.equal(describeSpentIn([first, second]), 'about 2,007 tokens in, 83 out, cost 0.12');
  assert.equal(describeSpentIn([second]), '7 tokens in, 3 out, cost 0.02');
  assert.equal(describeSpentIn([call([])]), null);
});

test('the usage of a turn is that of all its calls, and of none there is none', () => {
  const cached = { ...tried(9, 1).tokens!, cached: 4 };
  const steps = [call([tried(7, 3)]), call([{ ...tried(9, 1), tokens: cached }])];
  const sum = { inputTokens: 16, outputTokens: 4, cachedTokens: 4, estimated: false };
  assert.deepEqual(usageOfSteps(steps), sum);
  assert.equal(usageOfSteps([call([])]), null);
});

test('a trace of before tells of the calls that answered', () => {
  const plain = { startedAt: 0, ms: 1, failed: null };
  const before = call([plain], { usage: { inputTokens: 40, outputTokens: null } });
  assert.equal(describeSpentIn([before]), '40 tokens in, ? out');
  assert.equal(describeSpentIn([before, call([tried(2, 5)])]), '42 tokens in, 5 out');
});

test('how much of a prompt was there before is told in plain words', () => {
  const tokens = { input: 1_200, output: 30, estimated: false, cached: 1_024 };
  const step = call([{ startedAt: 0, ms: 1, failed: null, tokens }], { reuse: 0.9791 });
  const words = 'begins with 97 % of the last prompt; 1,024 of 1,200 tokens from the cache';
  assert.equal(describeReuse(step), words);
  assert.equal(describeReuse(call([], { reuse: 1 })), 'begins with 100 % of the last prompt');
  const usage = { inputTokens: 40, outputTokens: 2, cachedTokens: 0 };
  assert.equal(describeReuse(call([], { usage })), '0 of 40 tokens from the cache');
  assert.equal(describeReuse(call([tried(5, 5)])), null);
});
