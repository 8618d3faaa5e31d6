/** `svc serve` at a terminal prints a line for each message, without delaying the messages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import {
  freePort,
  post,
  scratch,
  secret,
  startProgram,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { openRealTerminal } from '../support/terminal.ts';
import { until } from '../support/waiting.ts';

async function setStage(folder: string, modelUrl: string, receiverUrl: string) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const file = await writeConfig(folder, webhookConfig({ port, adminPort, modelUrl, receiverUrl }));
  return { file, url: `http://127.0.0.1:${port}/webhook` };
}

const env = { WEBHOOK_SECRET: secret };

/** Resolves when something answers there. */
const answers = (url: URL): Promise<void> =>
  until(`an answer of ${url.href}`, async () => (await fetch(url).catch(() => null))?.ok === true);

test('at a terminal each message has a line, without a word of it', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'a private answer' });
  await using receiver = await startReceiver();
  const { file, url } = await setStage(folder.path, model.url, receiver.url);
  await using terminal = openRealTerminal(['serve', '--config', file], { env });
  await terminal.sees(/svc is listening/);
  await post(url, { sender_id: 'ada', text: 'a private question' });
  await terminal.sees(/✓ \d\d:\d\d:\d\d ada on webhook: answered by llama3\.2 \(Ollama\) in/);
  await model.script({ fail: '404' });
  await post(url, { sender_id: 'bob', text: 'another question' });
  await terminal.sees(
    /✗ \d\d:\d\d:\d\d bob on webhook: no answer after [\d.]+ s: no model answered/,
  );
  assert.doesNotMatch(terminal.seen(), /question|private/);
  terminal.type('\u0003');
  assert.equal(await terminal.ended, 0);
});

test('a terminal that is stopped stops no message', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'on' });
  await using receiver = await startReceiver();
  const { file, url } = await setStage(folder.path, model.url, receiver.url);
  // A log line waits for the terminal, as in any program; this level prints none.
  const args = ['serve', '--config', file, '--log-level', 'error'];
  await using terminal = openRealTerminal(args, { env });
  await answers(new URL('/healthz', url));
  await post(url, { sender_id: 'first', text: 'hello' });
  await terminal.sees(/first on webhook: answered/);
  await receiver.waitFor(1);
  terminal.type('\u0013');
  for (const at of [2, 3, 4]) {
    assert.equal((await post(url, { sender_id: `s${at}`, text: 'hello' })).status, 200);
    await receiver.waitFor(at);
  }
  terminal.type('\u0011');
  // svc drops the lines that the terminal did not accept, and continues a moment later.
  let sent = 4;
  await until('a line of what came after', async () => {
    await post(url, { sender_id: 'again', text: 'hello' });
    await receiver.waitFor(++sent);
    return /again on webhook: answered/.test(terminal.seen());
  });
  terminal.type('\u0003');
  assert.equal(await terminal.ended, 0);
});

test('without a terminal there is no such line', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  const { file, url } = await setStage(folder.path, model.url, receiver.url);
  await using program = startProgram(['serve', '--config', file], env);
  await program.saw('"listening"');
  await post(url, { sender_id: 'ada', text: 'hello' });
  await receiver.waitFor(1);
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0);
  assert.doesNotMatch(program.log(), /ada/);
});
