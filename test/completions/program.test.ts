/** The running program behind the completions API, asked as any client asks. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import type { Story } from '../../src/domain/story.ts';
import { asks, inTurn } from '../agents/stage.ts';
import type { ModelCall, Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const key = 'a-key-for-clients-of-the-tests';
const adminToken = 'an-admin-token-of-the-tests';

type Kind = 'memory' | 'sqlite' | 'postgres';

type Answer = {
  readonly id: string;
  readonly model: string;
  readonly choices: readonly {
    readonly message: { readonly content: string | null };
    readonly finish_reason: string;
  }[];
  readonly error?: { readonly code: string | null; readonly message: string };
};

type MessageRow = { readonly id: string; readonly outcome: string | null; readonly state: string };

type Options = {
  readonly kind?: Kind;
  /** What the cloud model answers; its brain is `cloud`. */
  readonly cloudly?: Script;
  readonly budget?: object;
  readonly agent?: object;
};

/**
 * Brains: `echo`, private and routed, with a cloud model too; `cloud`, public, with a price;
 * `door`, public and local. The last two have no route.
 */
async function place(script: Script, options: Options = {}) {
  const { kind = 'sqlite', cloudly = { answer: 'of the cloud' }, budget, agent } = options;
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const model = stack.use(await startFakeOllama(script, { capabilities: ['completion', 'tools'] }));
  const cloud = stack.use(await startFakeOpenai(cloudly));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort, apiPort] = [await freePort(), await freePort(), await freePort()];
  const config = webhookConfig({
    port,
    adminPort,
    modelUrl: model.url,
    receiverUrl: receiver.url,
  });
  const [echo] = config.brains;
  const [near] = echo!['models'] as object[];
  const price = { input: 2, output: 0.5 };
  const costing = {
    provider: 'hosted_runtime',
    model_id: 'big',
    locality: 'cloud',
    base_url: cloud.url,
    api_key_env: 'API_KEY',
    max_output_tokens: 100,
    max_retries: 0,
    price,
  };
  echo!['models'] = [costing, near!];
  const policy = { kind: 'priority' };
  config.brains.push(
    { name: 'cloud', sensitivity: 'public', policy, models: [costing], ...budget },
    { name: 'door', sensitivity: 'public', policy, models: [near!], ...(agent && { agent }) },
  );
  const storages = { memory: null, sqlite: { path: 'svc.db' }, postgres: { url_env: 'DATABASE' } };
  const storage = storages[kind];
  const env: Record<string, string> = {
    COMPLETIONS_TOKEN: key,
    ADMIN_TOKEN: adminToken,
    API_KEY: 'a-provider-key-of-the-tests',
    ...(kind === 'postgres' && { DATABASE: await newDatabase() }),
  };
  const file = await writeConfig(folder.path, {
    ...config,
    ...(storage !== null && { storage }),
    admin: { token_env: 'ADMIN_TOKEN' },
    completions: { bind: `127.0.0.1:${apiPort}`, token_env: 'COMPLETIONS_TOKEN' },
  });
  const origin = `http://127.0.0.1:${adminPort}`;
  const headers = { authorization: `Bearer ${adminToken}` };
  return {
    model,
    cloud,
    receiver,
    file,
    startHere: () => serveHere(file, port, env),
    start: () => serve(file, port, env),
    say: (text: string) => post(`http://127.0.0.1:${port}/webhook`, { sender_id: 'ada', text }),
    ask: (body: object, signal?: AbortSignal) =>
      fetch(`http://127.0.0.1:${apiPort}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...(signal !== undefined && { signal }),
      }),
    read: async (path: string): Promise<unknown> =>
      (await fetch(`${origin}/api/v1${path}`, { headers })).json(),
    remove: (path: string) => fetch(`${origin}/api/v1${path}`, { method: 'DELETE', headers }),
    metrics: async () => (await fetch(`${origin}/metrics`)).text(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Place = Awaited<ReturnType<typeof place>>;

const said = (content: string) => ({ role: 'user', content });
const question = (model: string, ...messages: readonly object[]) => ({ model, messages });

async function answerOf(response: Response): Promise<Answer> {
  return (await response.json()) as Answer;
}

/** The messages of the completions API, newest first. */
async function messagesOf({ read }: Place): Promise<readonly MessageRow[]> {
  const { rows } = (await read('/messages?channel=completions')) as {
    readonly rows: readonly MessageRow[];
  };
  return rows;
}

/** Waits until the newest message of the completions API has ended. */
function outcomeOf(it: Place): Promise<string> {
  return until('an outcome', async () => (await messagesOf(it))[0]?.outcome ?? null);
}

function textsTo(call: ModelCall): string {
  return JSON.stringify((call.body as { messages: unknown }).messages);
}

/** A promise that the test resolves. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { after: promise, go: () => resolve() };
}

for (const kind of ['memory', 'sqlite', 'postgres'] as const) {
  suite(`chat completions, ${kind}`, { skip: kind === 'postgres' && noPostgres }, () => {
    test("a client's conversation is answered, and the operator finds its id", async () => {
      await using it = await place({ answer: 'hello' }, { kind });
      await using service = await it.startHere();
      await it.say('a secret of the webhook');
      await it.receiver.waitFor(1);
      const history = [said('first'), { role: 'assistant', content: 'reply' }, said('second')];
      const system = { role: 'system', content: 'be brief' };
      const response = await it.ask(question('door', system, ...history));
      const answer = await answerOf(response);
      assert.equal(response.status, 200, JSON.stringify(answer));
      assert.equal(answer.choices[0]?.message.content, 'hello');
      assert.equal(answer.model, 'door');
      const call = await it.model.call(1);
      for (const text of ['be brief', 'first', 'reply', 'second']) {
        assert.ok(textsTo(call).includes(text), text);
      }
      assert.ok(!textsTo(call).includes('a secret of the webhook'));
      const story = (await it.read(`/messages/${answer.id.replace('chatcmpl-', '')}`)) as Story;
      assert.deepEqual([story.channel, story.trace?.outcome], ['completions', 'reply']);
      assert.ok(story.trace?.steps.every((step) => step.kind !== 'route'));
      await answerOf(await it.ask(question('door', said('third'))));
      assert.ok(!textsTo(await it.model.call(2)).includes('second'), 'svc remembers nothing');
      assert.match(await it.metrics(), /channel="completions"/);
      assert.match(service.log(), /"completions":"http:/);
    });

    test('a client that hangs up stops the call to the model', async () => {
      const wait = held();
      await using it = await place({ answer: 'late', after: wait.after }, { kind });
      await using _ = await it.startHere();
      const leave = new AbortController();
      const asking = it.ask(question('door', said('hello')), leave.signal);
      const call = await it.model.call(0);
      leave.abort();
      await assert.rejects(asking);
      assert.equal(await call.over, 'gone');
      assert.equal(await outcomeOf(it), 'abandoned');
      wait.go();
    });

    test('deleting the sender of a request under way ends it without an answer', async () => {
      const wait = held();
      await using it = await place({ answer: 'late', after: wait.after }, { kind });
      await using _ = await it.startHere();
      const asking = it.ask({ ...question('door', said('hello')), user: 'ada' });
      await it.model.call(0);
      const removed = await it.remove('/senders/completions/ada');
      assert.ok(removed.ok, await removed.text());
      const response = await asking;
      assert.equal(response.status, 503);
      assert.equal((await answerOf(response)).error?.code, 'deleted');
      wait.go();
    });

    test('over budget is 429, and what a call reserved is settled', async () => {
      const budget = { budget: { tokens_per_day: 700 } };
      await using it = await place({ answer: 'hello' }, { kind, budget });
      await using _ = await it.startHere();
      const first = await it.ask(question('cloud', said('hello')));
      assert.equal(first.status, 200, await first.clone().text());
      const statuses = [first.status];
      let last = first;
      while (last.status === 200 && statuses.length < 40) {
        last = await it.ask(question('cloud', said('again')));
        statuses.push(last.status);
      }
      assert.equal(last.status, 429);
      assert.ok(Number(last.headers.get('retry-after')) > 0);
      assert.equal((await answerOf(last)).error?.code, 'insufficient_quota');
      const spend = JSON.stringify(await it.read('/spend'));
      const used = statuses.length - 1;
      assert.ok(spend.includes(`"calls":${used}`), spend);
      assert.match(spend, /"open":\{"input":0,"output":0\}/);
    });

    test('a private brain asks no cloud model for a client', async () => {
      await using it = await place({ answer: 'from near' }, { kind });
      await using _ = await it.startHere();
      const answer = await answerOf(await it.ask(question('echo', said('hello'))));
      assert.equal(answer.choices[0]?.message.content, 'from near');
      assert.equal(it.cloud.calls.length, 0);
    });

    if (kind === 'memory') return;
    test('a request that a killed process leaves is abandoned, and asked no more', async () => {
      const wait = held();
      await using it = await place({ answer: 'late', after: wait.after }, { kind });
      {
        await using first = await it.start();
        const asking = it.ask(question('door', said('hello'))).catch(() => null);
        await it.model.call(0);
        first.child.kill('SIGKILL');
        await first.ended;
        assert.equal(await asking, null);
      }
      await using _ = await it.startHere();
      assert.equal(await outcomeOf(it), 'abandoned');
      assert.equal(it.model.calls.length, 1);
      wait.go();
    });
  });
}

test('the prompt of a request is measured against the last one of its client', async () => {
  await using it = await place({ answer: 'hello' });
  await using _ = await it.startHere();
  const first = [said('a question of some length, and with many words')];
  await answerOf(await it.ask({ ...question('door', ...first), user: 'ada' }));
  const grown = [...first, { role: 'assistant', content: 'hello' }, said('more')];
  const { id } = await answerOf(await it.ask({ ...question('door', ...grown), user: 'ada' }));
  const story = (await it.read(`/messages/${id.replace('chatcmpl-', '')}`)) as Story;
  const step = story.trace!.steps.find(({ kind }) => kind === 'model');
  assert.ok(step?.kind === 'model' && step.reuse! > 0.5, JSON.stringify(step));
});

test('a stream grows, and ends with the usage that its client wants', async () => {
  await using it = await place({ answer: 'one two three' });
  await using _ = await it.startHere();
  const stream = { stream: true, stream_options: { include_usage: true } };
  const response = await it.ask({ ...question('door', said('count')), ...stream });
  const text = await response.text();
  const events = text.split('\n\n').filter((one) => one.startsWith('data: {'));
  const deltas = events.map((one) => JSON.parse(one.slice('data: '.length)));
  const whole = deltas.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  assert.equal(whole, 'one two three');
  assert.ok(deltas.at(-1).usage.completion_tokens > 0);
  assert.ok(text.endsWith('data: [DONE]\n\n'), text);
});

test('a reload in the middle of a stream breaks nothing', async () => {
  const wait = held();
  const between = (piece: number) => (piece === 0 ? wait.after : undefined);
  await using it = await place({ answer: 'one two three', between });
  await using service = await it.startHere();
  const asking = await it.ask({ ...question('door', said('count')), stream: true });
  const document = JSON.parse(await readFile(it.file, 'utf8')) as Record<string, unknown>;
  const brains = document['brains'] as readonly { readonly name: string }[];
  const rest = brains.filter(({ name }) => name !== 'cloud');
  await writeFile(it.file, JSON.stringify({ ...document, brains: rest }));
  service.hangUp();
  await until('the new configuration', async () => {
    const gone = await it.ask(question('cloud', said('hello')));
    return gone.status === 404;
  });
  wait.go();
  const text = await asking.text();
  assert.ok(text.endsWith('data: [DONE]\n\n'), text);
});

test('a stop gives requests under way their time, and takes no new ones', async () => {
  const wait = held();
  await using it = await place({ answer: 'in time', after: wait.after });
  await using service = await it.startHere();
  const asking = it.ask(question('door', said('hello')));
  await it.model.call(0);
  const ended = service.stop();
  await service.saw('"draining"');
  wait.go();
  const response = await asking;
  assert.equal(response.status, 200);
  assert.equal((await answerOf(response)).choices[0]?.message.content, 'in time');
  await ended;
});

test('an agent runs the tools granted to the API, and none that would need a person', async () => {
  const agent = {
    tools: ['time', 'calc'],
    governance: [
      { tool: 'time', mode: 'allow', channels: ['completions'] },
      { tool: 'calc', mode: 'ask', channels: ['completions', 'webhook'] },
    ],
  };
  const steps = inTurn(asks('calc', { expression: '1+1' }), asks('time', {}), { answer: 'done' });
  await using it = await place(steps, { agent });
  await using _ = await it.startHere();
  const answer = await answerOf(await it.ask(question('door', said('hello'))));
  assert.equal(answer.choices[0]?.message.content, 'done');
  const story = (await it.read(`/messages/${answer.id.replace('chatcmpl-', '')}`)) as Story;
  const tools = story.trace!.steps.flatMap((step) =>
    step.kind === 'tool' ? [[step.tool, step.outcome]] : [],
  );
  assert.deepEqual(tools, [
    ['calc', 'denied'],
    ['time', 'done'],
  ]);
});
