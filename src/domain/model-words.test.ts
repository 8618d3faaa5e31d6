import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatModelId,
  formatModelName,
  describeModelOn,
  describeProvider,
} from './model-words.ts';

test('a model is called by its id, and its provider by the API that it speaks', () => {
  assert.equal(formatModelName('local_runtime/llama3.2'), 'llama3.2 (Ollama)');
  assert.equal(formatModelName('hosted_runtime/org/big'), 'org/big (OpenAI API)');
  assert.equal(formatModelName('another/a'), 'another/a');
  assert.deepEqual(['local_runtime', 'another'].map(describeProvider), ['Ollama', 'another']);
  assert.equal(formatModelId('hosted_runtime/org/big'), 'org/big');
  assert.equal(describeModelOn('hosted_runtime/org/big'), 'org/big on OpenAI API');
});
