/** Every file in examples/ runs as written, except for the addresses of this machine. */
import assert from 'node:assert/strict';
import { cpSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { validateText } from '../../src/config/validate.ts';
import { asks, bodyOf, inTurn, lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, writeConfig } from '../support/program.ts';

const folder = join(import.meta.dirname, '../../examples');

type Example = {
  channels: { webhook?: Record<string, unknown> }[];
  brains: { models: { provider: string; locality: string; base_url?: string }[] }[];
  observability?: unknown;
};

const read = (file: string): Example =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as Example;
/** Other tests run the examples for messengers and for API clients, with fakes of those. */
const onWebhooks = globSync('*.json', { cwd: folder }).filter((file) => {
  const { channels }: Partial<Example> = read(file);
  return channels?.[0]?.webhook !== undefined;
});

test('no example has a problem, and that for API clients warns of nothing', () => {
  for (const file of globSync('*.json', { cwd: folder })) {
    const { kind, problems } = validateText(readFileSync(join(folder, file), 'utf8'));
    assert.equal(kind, 'valid', `${file}: ${JSON.stringify(problems)}`);
    if (file === 'open-webui.json') assert.deepEqual(problems, []);
  }
});

for (const file of onWebhooks) {
  test(`examples/${file} boots and answers`, async () => {
    await using scene = await scratch();
    cpSync(folder, scene.path, { recursive: true });
    await using local = await startFakeOllama({ answer: 'four' });
    await using hosted = await startFakeOpenai({ answer: 'from the cloud' });
    await using receiver = await startReceiver();
    const port = await freePort();
    const example = read(file);
    const webhook = example.channels[0]!.webhook!;
    webhook['bind'] = `127.0.0.1:${port}`;
    webhook['outbound_url'] = receiver.url;
    for (const model of example.brains.flatMap(({ models }) => models)) {
      model.base_url = model.provider === 'local_runtime' ? local.url : hosted.url;
    }
    example.observability = { addr: `127.0.0.1:${await freePort()}` };
    const secrets = { OPENAI_API_KEY: 'sk-of-the-tests', REPLY_SECRET: 'a-secret-of-the-replies' };
    await using program = await serveHere(await writeConfig(scene.path, example), port, secrets);
    const answer = await post(program.url, { sender_id: 'ada', text: 'What is two and two?' });
    assert.equal(answer.status, 200);
    const [reply] = await receiver.waitFor(1);
    assert.equal(reply!.body['text'], 'four', basename(file));
    assert.equal(hosted.connections, 0, 'no cloud model is contacted while a local one answers');
    const bearer = webhook['outbound_token_env'] === undefined ? undefined : 'Bearer';
    assert.equal(reply!.headers.authorization?.split(' ')[0], bearer);
  });
}

test('the brain of the example for API clients answers them, without any channel', async () => {
  await using scene = await scratch();
  await using local = await startFakeOllama({ answer: 'four' });
  const port = await freePort();
  const example = read('open-webui.json') as Example & { completions: Record<string, unknown> };
  example.brains[0]!.models[0]!.base_url = local.url;
  example.completions['bind'] = `127.0.0.1:${port}`;
  example.observability = { enabled: false };
  const key = 'a-key-of-the-clients';
  const file = await writeConfig(scene.path, example);
  await using _program = await serveHere(file, port, { COMPLETIONS_TOKEN: key });
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'assistant',
      messages: [{ role: 'user', content: 'What is two and two?' }],
    }),
  });
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
  assert.equal(choices[0]!.message.content, 'four');
});

test('when the local model fails, the paid one is asked second', async () => {
  await using scene = await scratch();
  await using local = await startFakeOllama({ fail: '404' });
  await using hosted = await startFakeOpenai({ answer: 'from the cloud' });
  await using receiver = await startReceiver();
  const port = await freePort();
  const example = read('local-first-paid-second.json');
  Object.assign(example.channels[0]!.webhook!, {
    bind: `127.0.0.1:${port}`,
    outbound_url: receiver.url,
  });
  const [first, second] = example.brains[0]!.models;
  first!.base_url = local.url;
  second!.base_url = hosted.url;
  example.observability = { enabled: false };
  const secrets = { OPENAI_API_KEY: 'sk-of-the-tests' };
  await using program = await serveHere(await writeConfig(scene.path, example), port, secrets);
  await post(program.url, { sender_id: 'ada', text: 'hello' });
  const [reply] = await receiver.waitFor(1);
  assert.equal(reply!.body['text'], 'from the cloud');
  assert.equal(hosted.calls[0]!.headers.authorization, 'Bearer sk-of-the-tests');
});

test('the agent of the examples reads its folder, keeps a note, and tells both', async () => {
  await using scene = await scratch();
  cpSync(folder, scene.path, { recursive: true });
  await using local = await startFakeOllama(
    inTurn(
      asks('read_file', { path: 'hours.txt' }),
      asks('memory_note', { note: 'Comes on Saturdays.' }),
      { answer: 'Ten to two.' },
    ),
  );
  await using receiver = await startReceiver();
  const port = await freePort();
  const example = read('agent.json');
  const bind = `127.0.0.1:${port}`;
  Object.assign(example.channels[0]!.webhook!, { bind, outbound_url: receiver.url });
  example.brains[0]!.models[0]!.base_url = local.url;
  example.observability = { enabled: false };
  await using program = await serveHere(await writeConfig(scene.path, example), port);
  await post(program.url, { sender_id: 'ada', text: 'When are you open on Saturday?' });
  await receiver.waitFor(1);
  const system = bodyOf(local.calls[0]!).messages[0]!.content;
  assert.match(system, /small library\. Be brief\.\n\n[^]*opening-hours[^]*hours\.txt/);
  assert.match(lastOf(local.calls[1]!).content, /\nSaturday 10:00-14:00\n/);
  assert.match(lastOf(local.calls[2]!).content, /\nKept\.\n/);
  await post(program.url, { sender_id: 'ada', text: '/tools' });
  const replies = await receiver.waitFor(2);
  assert.equal(replies[0]!.body['text'], 'Ten to two.');
  assert.match(
    String(replies[1]!.body['text']),
    /^Tools here:\n- time: allow\n- calc: allow\n- read_/,
  );
});
