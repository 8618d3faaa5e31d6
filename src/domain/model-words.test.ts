import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sayModelId, sayModelName, sayModelOn, sayProvider } from './model-words.ts';

test('a model is called by its id, and its provider by the API that it speaks', () => {
  assert.equal(sayModelName('local_runtime/llama3.2'), 'llama3.2 (Ollama)');
  assert.equal(sayModelName('hosted_runtime/org/big'), 'org/big (OpenAI API)');
  assert.equal(sayModelName('another/a'), 'another/a');
  assert.deepEqual(['local_runtime', 'another'].map(sayProvider), ['Ollama', 'another']);
  assert.equal(sayModelId('hosted_runtime/org/big'), 'org/big');
  assert.equal(sayModelOn('hosted_runtime/org/big'), 'org/big on OpenAI API');
});
