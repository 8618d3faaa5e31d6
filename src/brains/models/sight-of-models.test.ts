import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startFakeOllama } from '../../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../../test/fake/openai.ts';
import { Bench, neverStopped, requestOf } from '../../../test/contract/model.ts';
import { testSight } from '../../../test/contract/model-sight.ts';

type Shown = { readonly messages: readonly { readonly images?: string[]; content: unknown }[] };

testSight({
  provider: 'local_runtime',
  modelId: 'llama3',
  start: (script, sees = null) => {
    const capabilities = sees === true ? ['completion', 'vision'] : ['completion'];
    return startFakeOllama(script, sees === null ? {} : { capabilities });
  },
  shownIn: (body) => (body as Shown).messages.at(-1)?.images ?? [],
  refusal: {
    status: 500,
    body: '{"error":"this model is missing data required for image input"}',
  },
});

testSight({
  provider: 'hosted_runtime',
  modelId: 'gpt-test',
  start: (script, sees = null) => {
    const inputs = sees === true ? ['text', 'image'] : ['text'];
    return startFakeOpenai(script, sees === null ? {} : { inputs });
  },
  shownIn: (body) => {
    const content = (body as Shown).messages.at(-1)?.content as { image_url?: { url: string } }[];
    return content.flatMap(({ image_url: shown }) => {
      return shown === undefined ? [] : [shown.url.replace('data:image/png;base64,', '')];
    });
  },
  refusal: {
    status: 400,
    body: '{"error":{"message":"image_url is only supported by certain models."}}',
  },
});

test('of a model that is not on the local runtime yet nobody knows', async () => {
  await using fake = await startFakeOllama();
  await using bench = new Bench();
  const model = bench.build({ provider: 'local_runtime', modelId: 'llama3' }, fake.url);
  await fake.script({ status: 404, body: '{"error":"model \'llama3\' not found"}' }, 'looks');
  assert.equal(await model.sees('public', bench.clock.in(5_000)), 'unreached');
});

suite('the hosted runtime', { concurrency: true }, () => {
  const hosted = { provider: 'hosted_runtime', modelId: 'gpt-test' } as const;

  test('is asked who sees under /v1, too, where its address has no path', async () => {
    await using fake = await startFakeOpenai(undefined, { inputs: ['text', 'image'] });
    await using bench = new Bench();
    const model = bench.build(hosted, fake.origin);
    assert.equal(await model.sees('public', bench.clock.in(5_000)), true);
  });

  for (const [what, status, body] of [
    ['a router', 404, { message: 'No endpoints found that support image input', code: 404 }],
    ['a router that answers 200', 200, { message: 'no vision here', code: 400 }],
    ['LM Studio', 400, { message: 'Model does not support images. Please use one that does.' }],
    ['vLLM', 400, { message: 'At most 0 image(s) may be provided in one prompt.' }],
    ['DeepSeek', 400, { message: 'unknown variant `image_url`, expected `text`' }],
    ['llama.cpp', 500, { message: 'image input is not supported - provide the mmproj', code: 500 }],
  ] as const) {
    test(`a picture that ${what} refuses is known as that`, async () => {
      const refusal = { status, body: JSON.stringify({ error: body }) };
      await using fake = await startFakeOpenai(refusal);
      await using bench = new Bench();
      const pictures = [{ type: 'image/png', bytes: Uint8Array.from([1]) }] as const;
      const lines = [{ role: 'user', text: 'look', pictures }] as const;
      const model = bench.build(hosted, fake.url, { vision: true });
      const outcome = await model.ask(requestOf({ lines }), neverStopped);
      assert.ok(outcome.kind === 'failed' && outcome.failure.kind === 'pictures_unsupported');
    });
  }
});
