import { testModelContract } from '../../test/contract/model.ts';
import { startFakeOllama } from '../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../test/fake/openai.ts';

testModelContract({ provider: 'local_runtime', modelId: 'llama3', start: startFakeOllama });
testModelContract({ provider: 'hosted_runtime', modelId: 'gpt-test', start: startFakeOpenai });
