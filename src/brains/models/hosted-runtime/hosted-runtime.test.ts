import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, neverStopped, requestOf } from '../../../../test/contract/model.ts';
import type { Model, ModelRequest } from '../model.ts';
import type { HttpClient } from '../../../lib/http-client.ts';
import type { HttpRequest } from '../../../lib/http-client/exchange.ts';
import { startFakeOpenai } from '../../../../test/fake/openai.ts';

const kind = { provider: 'hosted_runtime', modelId: 'gpt-test' } as const;
const whole = { choices: [{ message: { role: 'assistant', content: 'hello' } }] };

/** Answers for any host, and keeps the requests. */
class Wire implements HttpClient {
  readonly sent: HttpRequest[] = [];

  async send(request: HttpRequest): ReturnType<HttpClient['send']> {
    this.sent.push(request);
    return { kind: 'answer', status: 200, headers: {}, body: JSON.stringify(whole) };
  }

  async close(): Promise<void> {}

  get keys(): readonly unknown[] {
    return this.sent.map(({ body }) => (JSON.parse(String(body)) as Body).prompt_cache_key);
  }
}

type Body = { readonly prompt_cache_key?: unknown };

const ask = async (model: Model, more: Partial<ModelRequest>): Promise<void> => {
  const outcome = await model.ask(requestOf(more), neverStopped);
  assert.equal(outcome.kind, 'answer');
};

test('OpenAI gets a cache key that tells nothing, with public texts alone', async () => {
  const wire = new Wire();
  await using bench = new Bench({ http: wire, brain: 'main' });
  const model = bench.build(kind, 'https://api.openai.com/v1');
  const conversation = 'webhook\0ada@example.org';
  for (const own of [conversation, conversation, 'webhook\0bob']) {
    await ask(model, { conversation: own });
  }
  await ask(model, { conversation, sensitivity: 'private' });
  await ask(model, {});
  const [first, again, other, ...none] = wire.keys;
  assert.match(String(first), /^[\w-]{32}$/, 'at most 64 characters are taken');
  assert.equal(again, first);
  assert.notEqual(other, first);
  assert.deepEqual(none, [undefined, undefined]);
});

test('other servers get no cache key, also those with a name like it', async () => {
  const wire = new Wire();
  await using bench = new Bench({ http: wire, brain: 'main' });
  const hosts = [
    'https://api.mistral.ai/v1',
    'https://generativelanguage.googleapis.com/v1beta/openai',
    'https://api.openai.com.example.org/v1',
    'https://eu.api.openai.com/v1',
    'http://127.0.0.1:8080/v1',
  ];
  for (const url of hosts) await ask(bench.build(kind, url), { conversation: 'webhook\0ada' });
  assert.deepEqual(
    wire.keys,
    Array.from(hosts, () => undefined),
  );
  await using gemini = await startFakeOpenai();
  await using other = new Bench({ brain: 'main' });
  await ask(other.build(kind, gemini.url), { conversation: 'webhook\0ada' });
  assert.equal(gemini.calls.length, 1);
});

test('a model that refuses tools while it thinks gets them with thinking forbidden', async () => {
  // GPT-5.6 and GPT-6 at OpenAI, as BerriAI/litellm#34569 and danny-avila/LibreChat#14355 tell it:
  // they think unless told not to, so a request with tools alone is refused.
  const message =
    'Function tools with reasoning_effort are not supported for gpt-test in /v1/chat/completions' +
    ". To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  const error = { message, type: 'invalid_request_error', param: 'reasoning_effort', code: null };
  await using openai = await startFakeOpenai(({ body }) => {
    const { tools, reasoning_effort: effort } = body as Asked;
    const isRefused = tools !== undefined && effort !== 'none';
    return isRefused ? { status: 400, body: JSON.stringify({ error }) } : { answer: 'hello' };
  });
  await using bench = new Bench();
  const model = bench.build(kind, openai.url);
  const tools = [{ name: 'time', description: 'Tells the time.', parameters: { type: 'object' } }];
  for (const offered of [tools, [], tools]) await ask(model, { tools: offered });
  assert.deepEqual(
    openai.calls.map(({ body }) => (body as Asked).reasoning_effort),
    [undefined, 'none', undefined, 'none'],
  );
});

type Asked = { readonly tools?: unknown; readonly reasoning_effort?: unknown };
