import { testModelContract } from '../../../test/contract/model.ts';
import { startFakeOllama } from '../../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../../test/fake/openai.ts';
import { ownHost as host } from '../../../test/fake/own-host.ts';

testModelContract({
  provider: 'local_runtime',
  modelId: 'llama3',
  start: (script) => startFakeOllama(script, { host }),
});
testModelContract({
  provider: 'hosted_runtime',
  modelId: 'gpt-test',
  start: (script) => startFakeOpenai(script, { host }),
});
