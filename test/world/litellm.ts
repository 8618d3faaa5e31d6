/**
 * LiteLLM's proxy as a hosted runtime. It gives mock answers and mock errors itself, and relays
 * answers of a provider behind it (a fake of OpenAI's API).
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asks, bodyOf, inTurn } from '../agents/stage.ts';
import { Bench, neverStopped, requestOf } from '../contract/model.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { freePort } from '../support/program.ts';
import { until } from '../support/waiting.ts';
import type { Counterpart, Svc, World } from './world.ts';

const key = 'sk-of-the-world-0123456789';
const words = 'Seven and eight are fifteen, says the proxy.';
const sorry = /^Sorry, I have no answer right now\./;
const busy = /^I am busy or still starting up\./;
const long = /^This is longer than I can read at once\./;

/** Models of the proxy, and the behaviour of each. */
const models = (provider: string): object[] => [
  mocked('answers', words),
  mocked('limited', 'litellm.RateLimitError'),
  mocked('too-long', 'litellm.ContextWindowExceededError'),
  mocked('broken', 'litellm.InternalServerError'),
  mocked('filtered', 'Exception: content_filter_policy'),
  {
    model_name: 'relayed',
    litellm_params: { model: 'openai/gpt-test', api_base: provider, api_key: 'none' },
  },
];

const mocked = (name: string, answer: string): object => ({
  model_name: name,
  litellm_params: { model: 'openai/gpt-test', api_key: 'none', mock_response: answer },
});

export const litellm: Counterpart = {
  name: 'litellm',
  of: "PyPI's litellm[proxy]",
  async run(world) {
    const bin = await world.python('litellm');
    const provider = world.use(await startFakeOpenai());
    const url = await startProxy(world, bin, provider.url);
    const svcOf = (model: string, more: object = {}, brain: object = {}): Promise<Svc> =>
      world.svc(
        { base_url: url, provider: 'hosted_runtime', model_id: model, api_key_env: 'KEY', ...more },
        { brain, env: { KEY: key, WRONG_KEY: 'sk-nobody-has-this-one' } },
      );
    const said = async (what: string, svc: Svc, reply: RegExp, logged: string): Promise<void> => {
      const text = await svc.say('How much is seven and eight?');
      world.check(`${what}: the reply`, reply.test(text), text);
      world.check(`${what}: the log has ${logged}`, svc.log().includes(logged), failuresIn(svc));
      const told = svc.log().includes(key) || svc.log().includes('sk-nobody-has-this-one');
      world.check(`${what}: no key in the log`, !told, 'a key is in it');
    };
    await said(
      'a mock answer',
      await svcOf('answers'),
      /^Seven and eight are fifteen/,
      '"listening"',
    );
    const wrong = await svcOf('answers', { api_key_env: 'WRONG_KEY' });
    // Without a database the proxy answers 400 in place of 401 to a wrong key.
    await said('a wrong key', wrong, sorry, 'unauthorized (status 400)');
    const absent = await svcOf('no-such-model');
    await said('a model that is not there', absent, sorry, 'Invalid model name passed in');
    await said('a 429', await svcOf('limited'), busy, 'rate_limited');
    await said('a context that is too long', await svcOf('too-long'), long, 'context_overflow');
    await said('a 500', await svcOf('broken'), sorry, 'server_error');
    await said('a filter', await svcOf('filtered'), sorry, 'filtered');
    await streams(world, url);
    await relays(world, provider, await svcOf('relayed', {}, { agent: { tools: ['calc'] } }));
  },
};

async function startProxy(world: World, bin: string, provider: string): Promise<string> {
  const file = join(await world.folder(), 'config.yaml');
  // JSON is YAML. The proxy asks nothing of the network and reports nothing to it.
  const settings = { telemetry: false, num_retries: 0 };
  const config = { model_list: models(provider), litellm_settings: settings };
  await writeFile(file, JSON.stringify({ ...config, general_settings: { master_key: key } }));
  const port = String(await freePort());
  const args = ['--config', file, '--host', '127.0.0.1', '--port', port, '--telemetry', 'False'];
  const env = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', NO_DOCS: 'True' };
  const run = world.start(join(bin, 'litellm'), args, { env });
  const url = `http://127.0.0.1:${port}`;
  const over = run.ended.then(({ code }) => {
    throw new Error(`the proxy ended with ${code}: ${run.err().slice(-500)}`);
  });
  const lives = until('the proxy answers', async () => {
    const answer = await fetch(`${url}/health/liveliness`).catch(() => null);
    return answer?.ok ?? false;
  });
  await Promise.race([lives, over]);
  over.catch(() => {});
  return `${url}/v1`;
}

/** Reads a streamed answer, as for a messenger's growing replies. */
async function streams(world: World, url: string): Promise<void> {
  await using bench = new Bench();
  const kind = { provider: 'hosted_runtime', modelId: 'answers' } as const;
  const shown: string[] = [];
  const model = bench.build(kind, url, {}, key);
  const outcome = await model.ask(requestOf({ onText: (text) => shown.push(text) }), neverStopped);
  world.equal('a stream: what it came to', 'text' in outcome ? outcome.text : outcome, words);
  world.check('a stream: it grows', shown.length > 1, shown);
  world.check(
    'a stream: each is a beginning',
    shown.every((one) => words.startsWith(one)),
    shown,
  );
}

/** Two steps of an agent, and a provider's refusal, through the proxy. */
async function relays(world: World, provider: FakeModel, svc: Svc): Promise<void> {
  await provider.script(inTurn(asks('calc', { expression: '7+8' }), { answer: 'It is 15.' }));
  world.equal('an agent: its reply', await svc.say('How much is seven and eight?'), 'It is 15.');
  const lines = provider.calls.length > 1 ? bodyOf(provider.calls[1]!).messages : [];
  const result = lines.find(({ role }) => role === 'tool');
  world.check(
    'an agent: the result comes to the provider',
    /15/.test(result?.content ?? ''),
    lines,
  );
  await provider.script({ status: 400, body: JSON.stringify(tooLong) });
  const text = await svc.say('How much is that?');
  world.check('the provider: too long', long.test(text), `${text} ${failuresIn(svc)}`);
}

/** As OpenAI sends it. The proxy keeps the message, but not the code. */
const tooLong = {
  error: {
    message:
      "This model's maximum context length is 8192 tokens. However, your messages resulted in " +
      '9000 tokens. Please reduce the length of the messages.',
    type: 'invalid_request_error',
    param: 'messages',
    code: 'context_length_exceeded',
  },
};

/** The last lines of the log about models. */
const failuresIn = (svc: Svc): string =>
  svc
    .log()
    .split('\n')
    .filter((line) => line.includes('model'))
    .slice(-3)
    .join(' | ');
