import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../../test/fake/closed-port.ts';
import { startFakeOllama } from '../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../test/fake/openai.ts';
import { patienceMs } from '../../test/support/waiting.ts';
import { createLookupBeside } from '../../test/fake/secret-lookup.ts';
import { localBaseUrl, lookForModels } from './world.ts';

const hosts: readonly (readonly [written: string | undefined, url: string])[] = [
  [undefined, 'http://127.0.0.1:11434'],
  ['', 'http://127.0.0.1:11434'],
  ['0.0.0.0', 'http://127.0.0.1:11434'],
  ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
  ['[::]:11434', 'http://127.0.0.1:11434'],
  [':4000', 'http://127.0.0.1:4000'],
  ['gpu.lan', 'http://gpu.lan:11434'],
  ['gpu.lan:80', 'http://gpu.lan:80'],
  ['http://gpu.lan', 'http://gpu.lan:80'],
  ['https://gpu.lan/ollama', 'https://gpu.lan:443'],
  ['"127.0.0.1:11500"', 'http://127.0.0.1:11500'],
  ['not a host', 'http://127.0.0.1:11434'],
];

for (const [written, url] of hosts) {
  test(`OLLAMA_HOST ${written ?? 'not set'} is ${url}`, () => {
    assert.equal(localBaseUrl(written), url);
  });
}

const look = (env: Record<string, string>, hostedHere: string) =>
  lookForModels(
    { env, lookup: createLookupBeside({ env, cwd: '/' }), hostedHere, requestMs: patienceMs },
    new AbortController().signal,
  );
const nowhere = `http://127.0.0.1:${closedPort}`;

test('what gives numbers is no model to talk to, and what is handed on is cloud', async () => {
  await using runtime = await startFakeOllama(
    { answer: 'hello' },
    {
      models: ['llama3.2:latest', 'nomic-embed-text:latest', 'far:1b', 'big:120b-cloud'],
      remoteHosts: { 'far:1b': 'https://ollama.com' },
    },
  );
  const { near, empty, keyed } = await look({ OLLAMA_HOST: runtime.url }, nowhere);
  const told = near.map(({ modelId, locality }) => [modelId, locality]);
  assert.deepEqual(told, [
    ['llama3.2', 'local'],
    ['far:1b', 'cloud'],
    ['big:120b-cloud', 'cloud'],
  ]);
  assert.deepEqual([empty, keyed], [[], []]);
});

test('a runtime that speaks the hosted API on this machine is local; keys are found', async () => {
  await using hosted = await startFakeOpenai({ answer: 'hello' });
  const env = { OLLAMA_HOST: nowhere, OPENAI_API_KEY: 'a-key-of-the-test' };
  const { near, keyed } = await look(env, hosted.url);
  assert.ok(near.length > 0);
  for (const { provider, locality, baseUrl } of near) {
    assert.deepEqual([provider, locality, baseUrl], ['hosted_runtime', 'local', hosted.url]);
  }
  assert.deepEqual(
    keyed.map(({ keyEnv }) => keyEnv),
    ['OPENAI_API_KEY'],
  );
});
