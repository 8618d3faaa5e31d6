/** The process dies while a call that changes something is under way: it is not made twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, lastOf } from './agent-stage.ts';
import { obey } from './caged-agent.ts';
import type { FakeModel, ModelCall, Step } from './fake/model-server.ts';
import { startFakeOllama } from './fake/ollama.ts';
import { startReceiver } from './fake/receiver.ts';
import { startWeb, type Show, type Web } from './fake/web.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from './program.ts';

type Place = AsyncDisposable & {
  readonly web: Web;
  readonly model: FakeModel;
  start(): ReturnType<typeof serve>;
  /** Resolves with the only reply. */
  reply(): Promise<string>;
};

/** What is needed to start the program, twice, with an agent that may call `web`. */
async function place(show: Show, script: (call: ModelCall) => Step): Promise<Place> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const web = stack.use(await startWeb({ '/pay': show }));
  const model = stack.use(await startFakeOllama(script));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const cage = { allow_hosts: [`127.0.0.1:${web.port}`], timeout_seconds: 60 };
  Object.assign(config.brains[0]!, { agent: { tools: ['webhook_call'], webhook_call: cage } });
  const file = await writeConfig(folder.path, { ...config, storage: { path: 'svc.db' } });
  return {
    web,
    model,
    start: () => serve(file, port),
    reply: async () => String((await receiver.waitFor(1))[0]!.body['text']),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const ask = async (url: string, { port }: Web): Promise<void> => {
  const args = { url: `http://127.0.0.1:${port}/pay`, body: { euros: 7 } };
  const text = JSON.stringify({ tool: 'webhook_call', args });
  assert.equal((await post(url, { sender_id: 'ada', text })).status, 200);
};

test('killed between call and answer: it is not repeated, and the model is told', async () => {
  const called = Promise.withResolvers<void>();
  await using it = await place(() => called.resolve(), obey);
  {
    await using program = await it.start();
    await ask(program.url, it.web);
    await called.promise;
    program.child.kill('SIGKILL');
    await program.ended;
  }
  await using again = await it.start();
  assert.equal(await it.reply(), 'That was it.');
  const told = lastOf(it.model.calls.at(-1)!).content;
  assert.match(told, /had begun before the service was interrupted.*it was not repeated/s);
  assert.equal(it.web.visits.length, 1);
  assert.match(String(it.web.visits[0]!.headers['idempotency-key']), /^[0-9a-z]{22}:1:0$/);
  assert.equal(again.child.exitCode, null);
});

test('killed after it was answered and before the turn was: it is not repeated', async () => {
  const answered = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  let dead = false;
  const script = (call: ModelCall): Step => {
    if (lastOf(call).role === 'user' || dead) return obey(call);
    answered.resolve();
    return { answer: 'never heard', after: over.promise };
  };
  await using it = await place({ body: 'paid, number 17' }, script);
  {
    await using program = await it.start();
    await ask(program.url, it.web);
    await answered.promise;
    program.child.kill('SIGKILL');
    await program.ended;
    dead = true;
    over.resolve();
  }
  await using again = await it.start();
  assert.equal(await it.reply(), 'That was it.');
  const last = it.model.calls.at(-1)!;
  const told = lastOf(last).content;
  // The end of a call is written with the next group, which nothing waits for.
  assert.match(told, /paid, number 17|had begun before the service was interrupted/);
  assert.equal(bodyOf(last).messages.filter(({ role }) => role === 'tool').length, 1);
  assert.equal(it.web.visits.length, 1);
  assert.equal(again.child.exitCode, null);
});
