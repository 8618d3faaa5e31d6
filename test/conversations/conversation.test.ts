/** The conversations of the running program: their effects on each other, and their past. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelCall } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import {
  freePort,
  post,
  publicly,
  scratch,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';

const linesOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { content: string }[] }).messages.map(({ content }) => content);

test('a sentence of our own is sent and not remembered; what the person said is', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ fail: '404' });
  await using receiver = await startReceiver();
  const port = await freePort();
  const adminPort = await freePort();
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = { ...webhookConfig(where), storage: { path: 'svc.db' } };
  await using program = await serveHere(await writeConfig(folder.path, config), port);
  await post(program.url, { sender_id: 'ada', text: 'one' });
  const [reply] = await receiver.waitFor(1);
  assert.match(String(reply!.body['text']), /^Sorry, I have no answer/);
  await model.script({ answer: 'yes' });
  await post(program.url, { sender_id: 'ada', text: 'two' });
  await receiver.waitFor(2);
  assert.deepEqual(linesOf(model.calls.at(-1)!), ['one\n\ntwo']);
});

test('what came with a message by its address stands in later prompts as it did', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'yes' });
  await using receiver = await startReceiver();
  const port = await freePort();
  const adminPort = await freePort();
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = { ...webhookConfig(where), storage: { path: 'svc.db' } };
  await using program = await serveHere(await writeConfig(folder.path, config), port);
  const media = { media_url: 'https://example.test/x.png', media_type: 'image/png' };
  const told = '[attachment: image/png https://example.test/x.png]';
  for (const [index, text] of ['look', '', 'and?'].entries()) {
    await post(program.url, { sender_id: 'ada', text, ...(index < 2 && media) });
    await receiver.waitFor(index + 1);
  }
  assert.deepEqual(linesOf(model.calls.at(-1)!), [`look\n${told}`, 'yes', told, 'yes', 'and?']);
});

test('fifty conversations that hang delay no other; what comes behind them waits', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  await model.script((call) => (linesOf(call)[0] === 'hang' ? { fail: 'hang' } : { answer: 'ok' }));
  const port = await freePort();
  const adminPort = await freePort();
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  await using program = await serveHere(await writeConfig(folder.path, publicly(where)), port);
  for (let at = 0; at < 50; at++) await post(program.url, { sender_id: `s${at}`, text: 'hang' });
  await model.call(49);
  await post(program.url, { sender_id: 's0', text: 'behind it' });
  await post(program.url, { sender_id: 'ada', text: 'hello' });
  const [reply] = await receiver.waitFor(1);
  assert.equal(reply!.body['conversation_id'], 'ada');
  assert.equal(model.calls.length, 51);
});
