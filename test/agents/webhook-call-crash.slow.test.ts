/** The process dies during a call that changes something: the call is not repeated. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, bodyOf, lastOf } from './stage.ts';
import { obey } from './caged-agent.ts';
import type { FakeModel, ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { startWeb, type Show, type Web } from '../fake/web.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';

type Told = {
  readonly rows: readonly { readonly key: string; readonly outcome: string }[];
  readonly arguments: string;
};

type Place = AsyncDisposable & {
  readonly web: Web;
  readonly model: FakeModel;
  /** In a separate process, which a test can kill. */
  start(): ReturnType<typeof serve>;
  startHere(): ReturnType<typeof serveHere>;
  /** Resolves with the only reply. */
  reply(): Promise<string>;
  /** The audit: outcome and arguments of each call, newest first. */
  audit(): Promise<readonly (readonly [outcome: string, given: string])[]>;
};

/** The files to start the program, twice, with an agent that may call `web`. */
async function place(show: Show, script: (call: ModelCall) => Step): Promise<Place> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const web = stack.use(await startWeb({ '/pay': show }));
  const model = stack.use(await startFakeOllama(script));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const token = 'an-admin-token-of-the-tests';
  const headers = { authorization: `Bearer ${token}` };
  const list = `http://127.0.0.1:${adminPort}/api/v1/tool-uses`;
  const read = async (url: string) => (await fetch(url, { headers })).json() as Promise<Told>;
  const cage = { allow_hosts: [`127.0.0.1:${web.port}`], timeout_seconds: 60 };
  Object.assign(config.brains[0]!, {
    agent: { tools: ['time', 'webhook_call'], webhook_call: cage },
  });
  const file = await writeConfig(folder.path, {
    ...config,
    storage: { path: 'svc.db' },
    admin: { token_env: 'ADMIN_TOKEN' },
  });
  return {
    web,
    model,
    start: () => serve(file, port, { ADMIN_TOKEN: token }),
    startHere: () => serveHere(file, port, { ADMIN_TOKEN: token }),
    reply: async () => String((await receiver.waitFor(1))[0]!.body['text']),
    async audit() {
      const told: (readonly [string, string])[] = [];
      for (const { key, outcome } of (await read(list)).rows) {
        const one = await read(`${list}/${encodeURIComponent(key)}`);
        told.push([outcome, one.arguments]);
      }
      return told;
    },
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
  await using again = await it.startHere();
  assert.equal(await it.reply(), 'That was it.');
  const told = lastOf(it.model.calls.at(-1)!).content;
  assert.match(told, /had begun before the service was interrupted.*it was not repeated/s);
  assert.equal(it.web.visits.length, 1);
  assert.match(String(it.web.visits[0]!.headers['idempotency-key']), /^[0-9a-z]{22}:1:0$/);
  assert.equal((await fetch(new URL('/healthz', again.url))).status, 200);
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
  await using again = await it.startHere();
  assert.equal(await it.reply(), 'That was it.');
  const last = it.model.calls.at(-1)!;
  const told = lastOf(last).content;
  // The end of a call is written with the next group, and nobody waits for it.
  assert.match(told, /paid, number 17|had begun before the service was interrupted/);
  assert.equal(bodyOf(last).messages.filter(({ role }) => role === 'tool').length, 1);
  assert.equal(it.web.visits.length, 1);
  assert.equal((await fetch(new URL('/healthz', again.url))).status, 200);
});

const pays = ({ port }: Web, body: object): Step =>
  asks('webhook_call', { url: `http://127.0.0.1:${port}/pay`, body });
const resultsIn = (call: ModelCall): number =>
  bodyOf(call).messages.filter(({ role }) => role === 'tool').length;
/** A stop ends it by leaving its scope, which abandons its open work at once. */
const begin = async (it: Place, happened: Promise<void>, end: 'kill' | 'stop') => {
  await using program = await (end === 'kill' ? it.start() : it.startHere());
  assert.equal((await post(program.url, { sender_id: 'ada', text: 'pay' })).status, 200);
  await happened;
  if (!('child' in program)) return;
  program.child.kill('SIGKILL');
  await program.ended;
};

for (const end of ['kill', 'stop'] as const) {
  test(`a ${end} in a call that the model then makes at another step: not repeated`, async () => {
    const called = Promise.withResolvers<void>();
    let again = false;
    await using it = await place(
      () => called.resolve(),
      (call) => {
        const found = resultsIn(call);
        if (found === 0 && !again) return asks('time', {});
        if (found < 2 && !(again && found === 1)) return pays(it.web, { euros: 7 });
        return { answer: 'That was it.' };
      },
    );
    await begin(it, called.promise, end);
    again = true;
    await using _ = await it.startHere();
    assert.equal(await it.reply(), 'That was it.');
    assert.equal(it.web.visits.length, 1);
    const told = lastOf(it.model.calls.at(-1)!).content;
    assert.match(told, /it was not repeated/);
    const first = it.model.calls.find((call) => /interrupted/.test(lastOf(call).content))!;
    assert.match(lastOf(first).content, /webhook_call .*"euros":7.*\noutcome /);
    const [[outcome, given] = ['', ''], ...more] = await it.audit();
    assert.deepEqual([/^(unknown|failed)$/.test(outcome), more.length], [true, 0]);
    assert.match(given, /"euros":7/);
  });
}

test('killed, and another call in the same place: it is made, under its own key', async () => {
  const answered = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  let again = false;
  await using it = await place({ body: 'paid' }, (call) => {
    if (resultsIn(call) === 0) return pays(it.web, again ? { euros: 9 } : { euros: 7 });
    if (again) return { answer: 'I have paid 9, and 7 before.' };
    answered.resolve();
    return { answer: 'never heard', after: over.promise };
  });
  await begin(it, answered.promise, 'kill');
  again = true;
  over.resolve();
  await using _ = await it.startHere();
  assert.equal(await it.reply(), 'I have paid 9, and 7 before.');
  assert.deepEqual(
    it.web.visits.map(({ body }) => body),
    ['{"euros":7}', '{"euros":9}'],
  );
  const keys = it.web.visits.map(({ headers }) => String(headers['idempotency-key']));
  assert.match(keys[0]!, /:1:0$/);
  assert.equal(keys[1], `${keys[0]}:2`);
  const audit = await it.audit();
  assert.match(audit[0]![1], /"euros":9/);
  assert.equal(audit[0]![0], 'done');
  assert.match(audit[1]![1], /"euros":7/);
  assert.match(audit[1]![0], /^(unknown|done)$/, 'what run 1 did is not lost');
  assert.equal(audit.length, 2);
});
