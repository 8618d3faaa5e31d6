import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { startFakeOllama } from '../../../test/fake/ollama.ts';
import { demoConfig, modelWarningOf } from './demo.ts';

const doubtAt = (modelPort: number) => {
  const ports = { webhookPort: 1, receiverPort: 2, adminPort: 3, modelPort };
  const { config } = demoConfig({ ...ports, modelId: 'llama3.2', storagePath: null });
  return modelWarningOf(config.brains[0]!.models[0]!);
};

test('of a model that is there, there is no doubt', async () => {
  await using runtime = await startFakeOllama({ answer: 'hello' }, { models: ['llama3.2'] });
  assert.equal(await doubtAt(Number(new URL(runtime.url).port)), null);
});

test('a runtime that does not run, or lacks the model, is told with the command', async () => {
  assert.match((await doubtAt(closedPort)) ?? '', /Ollama is not running: `ollama serve`/);
  await using runtime = await startFakeOllama({ answer: 'hello' }, { models: ['other'] });
  const absent = (await doubtAt(Number(new URL(runtime.url).port))) ?? '';
  assert.match(absent, /answers, but has no model "llama3\.2"\. .*`ollama pull llama3\.2`/);
});
