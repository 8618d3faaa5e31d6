/** One provider with a model that answers and one that does not: svc's health, and its reports. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Status } from '../../src/admin/admin.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand } from '../support/in-process.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

/** The first model refuses every call, so that svc asks the second one. */
async function stage() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const receiver = stack.use(await startReceiver());
  let isAway = false;
  const runtime = stack.use(
    await startFakeOllama(
      ({ body }) =>
        isAway || (body as { model?: string }).model === 'bad'
          ? { status: 400, body: '{}' }
          : { answer: 'It opens at nine.' },
      { models: ['good', 'bad'] },
    ),
  );
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: runtime.url, receiverUrl: receiver.url };
  const base = webhookConfig(at);
  const documentWith = (...ids: readonly string[]) => {
    const shared = { provider: 'local_runtime', locality: 'local', base_url: runtime.url };
    const models = ids.map((model_id) => ({ ...shared, model_id }));
    return { ...base, brains: [{ ...base.brains[0], dispatch: 'sequential', models }] };
  };
  const file = await writeConfig(folder.path, documentWith('bad', 'good'));
  const program = stack.use(await serve(file, port));
  const all = stack.move();
  let said = 0;
  return {
    file,
    async say(): Promise<void> {
      said++;
      await post(program.url, { sender_id: 'ada', text: 'hello' });
      await receiver.waitFor(said);
    },
    async ask(path: string): Promise<string> {
      return (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text();
    },
    /** Makes all models fail. */
    end: () => void (isAway = true),
    async use(...ids: readonly string[]): Promise<void> {
      await writeFile(file, JSON.stringify(documentWith(...ids)));
      program.child.kill('SIGHUP');
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

type Stage = Awaited<ReturnType<typeof stage>>;

const statusOf = async (it: Stage): Promise<Status> =>
  JSON.parse(await it.ask('/api/v1/status')) as Status;

test('a provider of which one model answers stands still, and tells of both', async () => {
  await using it = await stage();
  const seen = new Set<string>();
  for (let n = 0; n < 8; n++) {
    await it.say();
    const { providers, models, answering } = await statusOf(it);
    const bad = models.find(({ model }) => model === 'local_runtime/bad')!;
    // A first failure is no outage.
    if (n === 0) continue;
    const [brain] = answering!;
    seen.add([providers[0]!.state, providers[0]!.standing, bad.standing, brain!.standing].join());
    assert.equal(bad.answeredByOthers, n + 1);
  }
  assert.deepEqual([...seen], ['up,degraded,failing,up']);
  const { out, code } = await runCommand(['status', '--config', it.file]);
  assert.equal(code, 0);
  assert.match(
    out,
    /Ollama: fails at some calls for .*; 8 of 16 calls failed in the last 5 minutes;/,
  );
  assert.match(out, /! bad \(Ollama\): failing .*; other models answered 8 messages in its/);
  const page = await it.ask('/metrics');
  assert.match(page, /svc_provider_state\{provider="local_runtime",state="degraded"\} 1/);
  assert.match(page, /svc_provider_state\{provider="local_runtime",state="failing"\} 0/);
});

test('where no model answers any more, svc says that messages stay unanswered', async () => {
  await using it = await stage();
  it.end();
  for (let n = 0; n < 2; n++) await it.say();
  const { answering, providers } = await statusOf(it);
  assert.deepEqual(
    answering!.map(({ brain, standing, model }) => [brain, standing, model]),
    [['echo', 'failing', 'local_runtime/bad']],
  );
  assert.equal(providers[0]!.state, 'failing');
  const { out, code } = await runCommand(['status', '--config', it.file]);
  assert.equal(code, 0, 'svc itself works');
  assert.match(out, /leaves messages unanswered/);
  assert.match(out, /brain echo: no model answers for it for .*; 2 of 2 messages got no answer/);
});

test('a model whose route has gone keeps its counts, and is told as not in use', async () => {
  await using it = await stage();
  for (let n = 0; n < 3; n++) await it.say();
  await it.use('good');
  await until('the other plan is in use', async () => {
    const { models } = await statusOf(it);
    return models.some(({ inUse }) => inUse === false);
  });
  const { models, providers } = await statusOf(it);
  assert.deepEqual(
    models.map(({ model, inUse, failures, standing }) => [model, inUse, failures, standing]),
    [
      ['local_runtime/good', true, 0, 'up'],
      ['local_runtime/bad', false, 3, 'unknown'],
    ],
  );
  assert.equal(providers[0]!.standing, 'up');
  assert.doesNotMatch((await runCommand(['status', '--config', it.file])).out, /runtime\/bad/);
});
