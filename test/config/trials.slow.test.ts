/** An operator's questions to the running program about configurations that it does not use. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ModelList, Preflighted, Validated } from '../../src/admin/config-trials.ts';
import { explainKeychain } from '../../src/app/keychain.ts';
import { asks, inTurn } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startWeb } from '../fake/web.ts';
import {
  hostedModel,
  key,
  localModel,
  parsed,
  resultOf,
  start,
  values,
  type Document,
} from './trials-program.ts';
import { until } from '../support/waiting.ts';

test('a trial shows what every model said, and why one of them is the reply', async () => {
  await using started = await start();
  const models = [localModel(started), hostedModel(started)];
  const open = started.draft({ sensitivity: 'public', models });
  const history = [{ asked: 'Hello', answered: 'Hello to you' }];
  const answer = resultOf(await started.tryIt(open, { history }));
  assert.deepEqual(answer.decision, {
    kind: 'reply',
    text: 'from here',
    model: 'local_runtime/llama3',
  });
  assert.equal(answer.answers[0]!.text, 'from here');
  assert.match(started.local.calls[0]!.text, /Hello to you/);
  assert.equal(answer.trace.outcome, 'reply');
  assert.equal(answer.trace.steps.at(-1)!.kind, 'policy');

  const closed = started.draft({ sensitivity: 'private', models });
  const kept = resultOf(await started.tryIt(closed));
  assert.deepEqual(
    kept.answers.map(({ model, kind, reason }) => [model, kind, reason]),
    [
      ['local_runtime/llama3', 'answer', null],
      ['hosted_runtime/big', 'dropped', 'the brain is private, and this model is declared cloud'],
    ],
  );

  const asked = started.hosted.calls.length;
  const labelled = resultOf(await started.tryIt(open, { sensitivity: 'private' }));
  assert.deepEqual(
    labelled.answers.map(({ kind, reason }) => [kind, reason]),
    [
      ['answer', null],
      ['dropped', 'what is asked is private, and this model is declared cloud'],
    ],
  );
  assert.equal(started.hosted.calls.length, asked, 'nothing private was sent there');

  await started.local.script({ fail: '500' });
  const one = started.draft({ sensitivity: 'public', dispatch: 'sequential', models });
  const second = resultOf(await started.tryIt(one));
  assert.equal(second.answers[0]!.failure!.kind, 'server_error');
  assert.equal(second.answers[1]!.text, 'from afar');
  await started.local.script({ answer: 'from here' });
  const first = resultOf(await started.tryIt(one));
  assert.equal(first.answers[1]!.reason, 'one that is listed before it answered');
});

test('a trial of consensus shows the votes and who dissents', async () => {
  await using started = await start();
  await using third = await startFakeOllama({ answer: 'Elsewhere' });
  await started.hosted.script({ answer: 'From here.' });
  // With the name of the first, at another address.
  const other = { ...localModel(started), base_url: third.url };
  const models = [localModel(started), hostedModel(started), other];
  const policy = { kind: 'consensus' };
  const config = started.draft({ sensitivity: 'public', policy, models });
  const agreed = resultOf(await started.tryIt(config));
  const last = agreed.trace.steps.at(-1)!;
  assert.ok(last.kind === 'policy');
  assert.deepEqual(last.votes[0], ['local_runtime/llama3', 'hosted_runtime/big']);
  await started.hosted.script({ answer: 'Nowhere' });
  const split = resultOf(await started.tryIt(config));
  assert.deepEqual(
    split.answers.map(({ text }) => text),
    ['from here', 'Nowhere', 'Elsewhere'],
  );
  assert.ok(split.decision.kind === 'apology');
  assert.equal(split.decision.apology, 'no_consensus');
  assert.match(split.decision.text, /do not agree/);
  assert.equal(split.why, 'at most 1 of 3 answers agree');
});

test('of an agent, pure tools run and tell; those that reach out are rehearsed', async () => {
  await using started = await start();
  await using web = await startWeb();
  await mkdir(join(started.folder, 'files'));
  await writeFile(join(started.folder, 'files', 'note.txt'), `its key is ${key}`);
  const host = new URL(web.origin).host;
  const agent = {
    tools: ['calc', 'read_file', 'http_fetch', 'memory_note'],
    read_file: { root: 'files' },
    http_fetch: { allow_hosts: [host] },
    memory: {},
    governance: [
      { tool: 'calc', mode: 'allow', channels: ['webhook'] },
      { tool: 'read_file', mode: 'allow' },
      { tool: 'http_fetch', mode: 'allow' },
      { tool: 'memory_note', mode: 'shadow' },
    ],
  };
  const script = (): Promise<void> =>
    started.local.script(
      inTurn(
        asks('calc', { expression: '6*7' }),
        asks('read_file', { path: 'note.txt' }),
        asks('http_fetch', { url: web.origin }),
        asks('memory_note', { note: 'likes tea' }),
        { answer: 'Done.' },
      ),
    );
  await script();
  const models = [localModel(started), hostedModel(started)];
  const config = started.draft({ sensitivity: 'public', models, agent });
  const { tools, answers } = resultOf(await started.tryIt(config));
  assert.deepEqual(
    tools.map(({ tool, mode, outcome, result }) => [tool, mode, outcome, result]),
    [
      ['calc', 'allow', 'done', '42'],
      ['read_file', 'allow', 'done', 'its key is [secret]'],
      ['http_fetch', 'allow', 'rehearsed', null],
      ['memory_note', 'shadow', 'rehearsed', null],
    ],
  );
  assert.equal(tools[0]!.arguments, '{"expression":"6*7"}');
  assert.equal(answers[0]!.text, 'Done.');
  assert.equal(answers[1]!.reason, 'a better one answered');
  assert.equal(web.connections, 0);
  await script();
  const elsewhere = resultOf(await started.tryIt(config, { channel: 'telegram' }));
  assert.deepEqual([elsewhere.tools[0]!.tool, elsewhere.tools[0]!.outcome], ['calc', 'denied']);
});

test('a trial leaves no trace in the service that runs', async () => {
  await using started = await start();
  const before = await started.metrics();
  await started.tryIt(started.draft({ models: [localModel(started)] }));
  const [earlier, later] = [before, await started.metrics()].map((text) =>
    text.split('\n').filter((line) => /^svc_(?:message|turn|model|deliver|rows|dead)/.test(line)),
  );
  assert.deepEqual(later, earlier);
  assert.equal(started.receiver.received.length, 0);
  const list = parsed(await started.send('GET', 'conversations')) as { rows: unknown[] };
  assert.deepEqual(list.rows, []);
  await started.program.saw('"code":"operator_wrote"');
  assert.match(
    started.program.log(),
    /"code":"operator_wrote".*"brain":"echo".*"action":"try_brain"/,
  );
});

test('a trial ends when who asked goes away, and four at most are under way', async () => {
  await using started = await start();
  await started.local.script({ fail: 'hang' });
  const config = started.draft({ models: [localModel(started)] });
  const leaving = new AbortController();
  const asked = Array.from({ length: 4 }, () =>
    started.tryIt(config, {}, leaving.signal).catch((error: Error) => error.name),
  );
  const calls = await Promise.all([0, 1, 2, 3].map((index) => started.local.call(index)));
  const fifth = await started.tryIt(config);
  const loads = 'svc_model_calls{provider="local_runtime",state="in_flight"}';
  assert.ok((await started.metrics()).includes(`${loads} 0\n`), 'they are none of the service');
  assert.equal(fifth.status, 429);
  assert.equal((JSON.parse(fifth.body) as { code: string }).code, 'busy');
  leaving.abort();
  assert.deepEqual(await Promise.all(asked), Array(4).fill('AbortError'));
  for (const { over } of calls) assert.equal(await over, 'gone');
  await started.local.script({ answer: 'free again' });
  const status = await until('room for another', async () => {
    const { status: told } = await started.tryIt(config);
    return told === 429 ? null : told;
  });
  assert.equal(status, 200);
});

test('a preflight ends when who asked goes away', async () => {
  await using started = await start();
  const reached: Socket[] = [];
  await using server = createServer((socket) => {
    reached.push(socket.on('error', () => {}).resume());
  });
  using _ends = { [Symbol.dispose]: () => reached.forEach((socket) => socket.destroy()) };
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const text = JSON.stringify(started.draft({ models: [{ ...localModel(started), base_url }] }));
  const leaving = new AbortController();
  const look = (signal: AbortSignal): Promise<unknown> =>
    started.send('POST', 'config/preflight', text, signal).catch((error: Error) => error.name);
  const staying = new AbortController();
  const stays = look(staying.signal);
  await until('one waits for its model', () => reached.length === 1);
  const asked = [1, 2, 3].map(() => look(leaving.signal));
  await until('all four wait', () => reached.length === 4);
  leaving.abort();
  assert.deepEqual(await Promise.all(asked), Array(3).fill('AbortError'));
  const [first, ...others] = reached;
  await until('nothing is asked for them any more', () => others.every((one) => one.closed));
  assert.equal(first!.closed, false, 'the first, which asked before them, waits still');
  const { status } = await started.send('POST', 'config/preflight', JSON.stringify(started.used));
  assert.equal(status, 200, 'their places are free');
  staying.abort();
  assert.equal(await stays, 'AbortError');
});

test('a trial under way does not keep svc from ending', async () => {
  await using started = await start();
  await started.local.script({ fail: 'hang' });
  const config = started.draft({ models: [localModel(started)] });
  const asked = started.tryIt(config).catch((error: Error) => error.name);
  await started.local.call(0);
  assert.equal(await started.program.stop(), 0);
  assert.equal(await asked, 'TypeError', 'its connection is closed');
});

test('a draft with problems, without a secret or without the brain asks nobody', async () => {
  await using started = await start();
  const cases: readonly (readonly [Document, object, number, string])[] = [
    [started.draft({ sensitivity: 'secret' }), {}, 422, 'config_invalid'],
    [
      started.draft({ models: [hostedModel(started, { api_key_env: 'NOT_SET' })] }),
      {},
      422,
      'secret_missing',
    ],
    [started.used, { brain: 'other' }, 404, 'unknown_brain'],
    [started.used, { text: ' ' }, 400, 'invalid_field'],
    [started.used, { channel: 'pigeon' }, 404, 'unknown_channel'],
    [started.used, { channel: 'A pigeon' }, 400, 'invalid_field'],
    [started.used, { history: [{ asked: 1 }] }, 400, 'invalid_field'],
  ];
  for (const [config, more, status, code] of cases) {
    const answer = await started.tryIt(config, more);
    assert.equal(answer.status, status, answer.body);
    const told = JSON.parse(answer.body) as { code: string; problems?: { path: string }[] };
    assert.equal(told.code, code);
    if (status === 422) assert.match(told.problems![0]!.path, /^brains\[0\]\./);
  }
  assert.equal(started.local.calls.length + started.hosted.calls.length, 0);
});

test('a draft is checked where the file lies, and its world is looked at', async () => {
  await using started = await start();
  const agent = { tools: ['read_file'], read_file: { root: 'missing' } };
  const draft = started.draft({ models: [hostedModel(started)], sensitivity: 'public', agent });
  const text = JSON.stringify(draft);
  const checked = parsed(await started.send('POST', 'config/validate', text)) as Validated;
  assert.equal(checked.valid, true);
  const codes = checked.problems.map(({ code }) => code);
  assert.ok(codes.includes('read_root_missing'), codes.join());
  assert.match(JSON.stringify(checked.problems), new RegExp(`${started.folder}/missing`));
  const broken = parsed(await started.send('POST', 'config/validate', '{')) as Validated;
  assert.equal(broken.valid, false);

  const looked = parsed(await started.send('POST', 'config/preflight', text)) as Preflighted;
  assert.equal(started.hosted.calls.length, 0, 'nothing is asked of a model');
  assert.ok(started.hosted.looks.length > 0);
  const kinds = Object.fromEntries(looked.lines.map(({ subject, kind }) => [subject, kind]));
  assert.equal(kinds['API_KEY'], 'ok');
  assert.equal(kinds[join(started.folder, 'missing')], 'failed');
  const database = looked.lines.find(({ subject }) => subject.endsWith('svc.db'));
  assert.equal(database!.message, 'is in use by this service');
  const none = parsed(await started.send('POST', 'config/preflight', '{')) as Preflighted;
  assert.deepEqual([none.valid, none.lines], [false, []]);
});

test('a provider lists its models by its key, or the answer says why it does not', async () => {
  await using started = await start();
  const list = async (of: object): Promise<ModelList> => {
    return parsed(await started.send('POST', 'config/models', JSON.stringify(of))) as ModelList;
  };
  const { provider, base_url, api_key_env } = hostedModel(started);
  const hosted = await list({ provider, base_url, api_key_env });
  assert.deepEqual(hosted, { names: ['gpt-test'], reason: null });
  assert.equal(started.hosted.calls.length, 0, 'no model is asked');
  const local = await list({ provider: 'local_runtime', base_url: started.local.url });
  assert.ok(local.names.includes('llama3:latest'), local.names.join());
  const reasonOf = async (of: object): Promise<string | null> => (await list(of)).reason;
  assert.match(
    (await reasonOf({ provider, base_url, api_key_env: 'NOT_SET' }))!,
    /^NOT_SET is not/,
  );
  assert.match((await reasonOf({ provider: 'strange' }))!, /provider/);
  assert.match((await reasonOf({ provider, base_url: 'no address' }))!, /base_url/);
  await started.hosted.script({ fail: '401' }, 'looks');
  assert.match((await reasonOf({ provider, base_url, api_key_env }))!, /key/);
  const secret = Object.values(values).some((value) => JSON.stringify(hosted).includes(value));
  assert.equal(secret, false);
});

test('of a secret its presence is told, and of no variable its value', async () => {
  await using started = await start();
  const set = { source: 'environment', inKeychain: false } as const;
  const { message, remedy } = explainKeychain('no_bus');
  assert.deepEqual(JSON.parse((await started.send('GET', 'secrets')).body), {
    rows: [
      { name: 'WEBHOOK_SECRET', ...set, usedAt: ['channels[0].token_env'], restart: false },
      { name: 'ADMIN_TOKEN', ...set, usedAt: ['admin.token_env'], restart: false },
    ],
    store: { kind: 'secret_service', state: 'no_bus', message, remedy },
  });
  const names = ['UNUSED_CANARY', 'NOT_SET', 'toString', 'API_KEY'];
  const asked = JSON.stringify({ names });
  assert.deepEqual(JSON.parse((await started.send('POST', 'secrets/presence', asked)).body), {
    rows: names.map((name) => ({
      name,
      source: /CANARY|KEY/.test(name) ? 'environment' : 'missing',
      inKeychain: false,
    })),
  });
  for (const wrong of [['a b'], Array(201).fill('A'), ['sk-proj-aaaaaaaaaaaaaaaa'], 'A', [1]]) {
    const body = JSON.stringify({ names: wrong });
    const refused = await started.send('POST', 'secrets/presence', body);
    assert.equal(refused.status, 400, refused.body);
    assert.doesNotMatch(refused.body, /sk-proj/);
  }
  // A model that repeats its request, with the key of its bearer.
  await started.hosted.script(({ headers }) => ({ answer: `you sent ${headers.authorization}` }));
  const hosted = { sensitivity: 'public', models: [hostedModel(started)] };
  const said = resultOf(await started.tryIt(started.draft(hosted)));
  assert.equal(said.answers[0]!.text, 'you sent Bearer [secret]');
  assert.deepEqual(said.decision.text, 'you sent Bearer [secret]');
  const other = { ...hosted, models: [hostedModel(started, { api_key_env: 'UNUSED_CANARY' })] };
  await started.tryIt(started.draft(other));
  for (const value of values) assert.ok(!started.program.log().includes(value));
});

test('where there is no keychain, no value is taken, and the answer says what to do', async () => {
  await using started = await start();
  const canary = 'a-value-that-is-kept-nowhere';
  const path = 'secrets/API_KEY';
  const put = await started.send('PUT', path, JSON.stringify({ value: canary }));
  const { code, detail, state, remedy } = JSON.parse(put.body) as Record<string, string>;
  assert.deepEqual([put.status, code, state], [503, 'keychain_unavailable', 'no_bus']);
  const told = explainKeychain('no_bus');
  assert.deepEqual([detail, remedy], [`${told.message} ${told.remedy}`, told.remedy]);
  assert.equal((await started.send('DELETE', path)).status, 503);
  for (const method of ['PUT', 'DELETE']) {
    const body = method === 'PUT' ? JSON.stringify({ value: canary }) : undefined;
    const refused = await started.send(method, 'secrets/ADMIN_TOKEN', body);
    assert.equal(refused.status, 403);
    assert.match(refused.body, /"set_by_hand"/);
  }
  await started.program.saw('"action":"secret_deleted"');
  assert.ok(!started.program.log().includes(canary));
});
