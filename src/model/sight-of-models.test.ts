import { startFakeOllama } from '../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../test/fake/openai.ts';
import { testSight } from '../../test/contract/model-sight.ts';

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
