/** Text accepted as private stays private over every change of configuration. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startConfigured } from '../config/program.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { runCommand } from '../support/in-process.ts';
import { post } from '../support/program.ts';

const policy = { kind: 'priority' };
const secret = 'the safe opens with 4711';

const wordsOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { content: string }[] }).messages.map(({ content }) => content);
const repeat = (call: ModelCall): Step => ({ answer: wordsOf(call).join(' | ') });

/** A service whose first brain is private, and the brains that may replace it. */
async function stage(settings: object = { storage: { path: 'svc.db' } }, agent: object = {}) {
  await using parts = new AsyncDisposableStack();
  const local = parts.use(await startFakeOllama(repeat, { models: ['here:latest'] }));
  const cloud = parts.use(await startFakeOpenai({ answer: 'from elsewhere' }));
  const here = {
    provider: 'local_runtime',
    model_id: 'here',
    locality: 'local',
    base_url: local.url,
  };
  const elsewhere = {
    provider: 'hosted_runtime',
    model_id: 'gpt-test',
    locality: 'cloud',
    base_url: cloud.url,
    api_key_env: 'CLOUD_KEY',
  };
  const brain = (sensitivity: string, models: readonly object[]) => ({
    brains: [{ name: 'echo', sensitivity, policy, models, ...agent }],
  });
  const env = { CLOUD_KEY: 'a-key-of-the-tests' };
  const first = { ...settings, ...brain('private', [here]) };
  const service = parts.use(await startConfigured(first, env));
  const own = parts.move();
  return {
    local,
    cloud,
    service,
    /** Replaces the brain. */
    async change(sensitivity: 'public' | 'private', ...where: readonly ('here' | 'elsewhere')[]) {
      const models = where.map((one) => (one === 'here' ? here : elsewhere));
      const told = await service.put({ ...service.first, ...brain(sensitivity, models) });
      assert.equal(told.status, 200, JSON.stringify(told.body));
      return told.body.warnings ?? [];
    },
    sentAway: () => cloud.calls.map(({ text }) => text).join('\n'),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('the history of a private brain is not shown to the models of a public one', async () => {
  await using it = await stage();
  await it.service.say(secret);
  await it.change('public', 'elsewhere');
  assert.equal(await it.service.say('hello'), 'from elsewhere');
  assert.equal(await it.service.say('and now?'), 'from elsewhere');
  assert.doesNotMatch(it.sentAway(), /4711/);
  const [, second] = it.cloud.calls;
  assert.deepEqual(wordsOf(second!), ['hello', 'from elsewhere', 'and now?']);
});

test('a model that is here sees it on, and what it says of it stays here as well', async () => {
  await using it = await stage();
  await it.service.say(secret);
  await it.change('public', 'here');
  assert.match(await it.service.say('hello'), /4711[^]*\| hello$/);
  await it.change('public', 'elsewhere');
  assert.equal(await it.service.say('and now?'), 'from elsewhere');
  assert.doesNotMatch(it.sentAway(), /4711|hello/);
});

test('messages that wait are answered as what they were accepted as', async () => {
  for (const settings of [{ storage: { path: 'svc.db' } }, {}]) {
    await using it = await stage(settings);
    const open = Promise.withResolvers<void>();
    await it.local.script((call) => ({ ...repeat(call), after: open.promise }));
    for (const text of [`${secret}, first`, `${secret}, second`]) {
      const url = `http://127.0.0.1:${it.service.port}/webhook`;
      assert.equal((await post(url, { sender_id: 'ada', text })).status, 200);
    }
    await it.local.call(0);
    await it.change('public', 'elsewhere');
    open.resolve();
    const received = await it.service.receiver.waitFor(2);
    assert.match(String(received[0]!.body['text']), /first$/);
    assert.match(String(received[1]!.body['text']), /^Sorry, I have no answer/);
    assert.doesNotMatch(it.sentAway(), /4711/);
    assert.equal(it.cloud.connections, 0);
  }
});

test('the label outlasts a restart', async () => {
  await using it = await stage();
  await it.service.say(secret);
  await it.change('public', 'elsewhere');
  await it.service.restart();
  assert.equal(await it.service.say('hello'), 'from elsewhere');
  assert.doesNotMatch(it.sentAway(), /4711/);
});

test('what is recalled from a private session is as private', async () => {
  await using it = await stage({ storage: { path: 'svc.db' }, session: { recall_max: 5 } });
  await it.service.say(secret);
  await it.service.say('/new');
  await it.change('public', 'elsewhere');
  assert.match(await it.service.say('/recall'), /is in view again/);
  assert.equal(await it.service.say('hello'), 'from elsewhere');
  await it.change('public', 'here');
  assert.match(await it.service.say('and here?'), /4711/);
  assert.doesNotMatch(it.sentAway(), /4711/);
});

test('a note that was made in private is not shown elsewhere', async () => {
  const agent = { agent: { tools: ['memory_note'], memory: {} } };
  await using it = await stage(undefined, agent);
  await it.local.script((_call, before) =>
    before === 0
      ? { answer: '', calls: [{ name: 'memory_note', arguments: { note: secret } }] }
      : { answer: 'noted' },
  );
  assert.equal(await it.service.say('remember it'), 'noted');
  await it.change('public', 'elsewhere');
  assert.equal(await it.service.say('hello'), 'from elsewhere');
  assert.equal(it.cloud.calls.length, 1);
  assert.doesNotMatch(it.sentAway(), /4711|remember it/);
  await it.change('public', 'here');
  await it.local.script(repeat);
  assert.match(await it.service.say('and here?'), /4711/);
});

test('the story says what was left out', async () => {
  await using it = await stage();
  await it.service.say(secret);
  await it.change('public', 'elsewhere', 'here');
  await it.service.say('hello');
  const list = (await it.service.ask('messages')).body as { rows?: unknown } as {
    rows?: readonly { id: string }[];
  };
  const story = (await it.service.ask(`messages/${list.rows![0]!.id}`)).body as {
    trace?: { steps: readonly { kind: string }[] };
  };
  assert.deepEqual(
    story.trace!.steps.filter(({ kind }) => kind === 'left_out'),
    [
      {
        kind: 'left_out',
        why: 'private',
        models: ['hosted_runtime/gpt-test'],
        turns: 1,
        notes: 0,
      },
    ],
  );
});

test('who applies, checks or reviews such a configuration is told', async () => {
  await using it = await stage();
  await it.service.say(secret);
  const told = (warnings: readonly { readonly code: string }[] = []): readonly string[] =>
    warnings.filter(({ code }) => code === 'private_not_shown').map((one) => JSON.stringify(one));
  assert.deepEqual(told(await it.change('private', 'here', 'elsewhere')), []);
  assert.deepEqual(told(await it.change('public', 'here')), []);
  const applied = told(await it.change('public', 'here', 'elsewhere'));
  assert.equal(applied.length, 1);
  assert.match(
    applied[0]!,
    /1 conversation on webhook holds private texts, and echo asks cloud mod/,
  );
  const { body } = await it.service.ask('config/validate', {
    method: 'POST',
    body: await it.service.onDisk(),
  });
  assert.deepEqual(told(body.problems), applied);
  const checked = await runCommand(['config', 'check', '--json'], { cwd: it.service.folder });
  assert.deepEqual([checked.code, checked.err], [0, '']);
  const { problems } = JSON.parse(checked.out) as { problems: readonly { code: string }[] };
  assert.deepEqual(told(problems), applied);
});

test('a model that proves to be elsewhere is asked without what is private', async () => {
  await using it = await stage();
  await it.service.say(secret);
  await it.change('public', 'here');
  await it.local.script((call) => {
    const answer = wordsOf(call).join(' | ');
    return { answer, more: { remote_host: 'https://vendor.example' } };
  });
  assert.equal(await it.service.say('hello'), 'hello');
  assert.equal(await it.service.say('again'), 'hello | hello | again');
});
