/** `svc init` at a terminal: from nothing to an answer, and where it does not go well. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { closedPort } from './fake/closed-port.ts';
import { startFakeOllama } from './fake/ollama.ts';
import { startFakeTelegram } from './fake/telegram.ts';
import { startInit, type InitStage } from './init-stage.ts';

const nowhere = `http://127.0.0.1:${closedPort}`;
const there = `{"channels": [{"type": "webhook", "token_env": "HOOK", "webhook":
  {"outbound_url": "http://127.0.0.1:9/"}}], "brains": [{"name": "own", "sensitivity": "private",
  "policy": {"kind": "priority"}, "models": [{"provider": "ollama", "model_id": "old",
  "locality": "local"}]}], "routes": [{"channel": "webhook", "brain": "own"}]}`;
const withFile = {
  ollama: nowhere,
  prepare: (folder: string) => writeFile(join(folder, 'svc.json'), there),
};

/** From the first page to the choice of a channel, with the practice model. */
async function toChannel(init: InitStage): Promise<void> {
  await init.answer(/No model runtime answers/, '3');
  await init.answer(/the practice model answered in/);
  await init.sees(/Where messages come from/);
}

/** Ctrl-C at a page; nothing may have been written. */
async function leaves(init: InitStage): Promise<void> {
  init.type('\x03');
  assert.equal(await init.ended, 1);
  assert.match(init.seen(), /Nothing was written, and nothing was changed\./);
}

suite('from nothing to an answer', () => {
  test('a webhook: the model answers, the file is written, and its first reply is shown', async () => {
    await using runtime = await startFakeOllama({ answer: 'Hello from it.' }, { models: ['m:1b'] });
    await using init = await startInit({ ollama: runtime.url });
    await init.answer(/The model that answers[^]*1 {2}m:1b/);
    await init.answer(/m:1b answered in[^]*Hello from it\./);
    await init.answer(/Where messages come from[^]*1 {2}Webhook/);
    await init.answer(/Where its secrets are kept/);
    await init.sees(/WEBHOOK_SECRET \(it is not shown\): /);
    init.type('\r');
    await init.answer(/Nothing was written so far[^]*"provider": "local_runtime"/);
    await init.answer(/The answer:[^]*Hello from it\./);
    await init.sees(/svc is running\. It ends with this command\./);
    const { storage, admin } = JSON.parse(init.file() ?? '') as Record<string, unknown>;
    assert.deepEqual([storage, admin], [{ path: 'svc.db' }, undefined]);
    assert.match(init.seen(), /export WEBHOOK_SECRET="\$\(openssl rand -hex 32\)"/);
    assert.deepEqual([...init.kept], []);
    init.interrupt();
    assert.equal(await init.ended, 0);
  });

  test('a messenger: the token is asked who it is, and the code lets its owner in', async () => {
    await using telegram = await startFakeTelegram();
    await using init = await startInit({
      ollama: nowhere,
      platform: telegram.url,
      keychain: 'ready',
    });
    await toChannel(init);
    await init.answer(/2 {2}Telegram/, '2');
    await init.answer(/1\. In Telegram, write \/newbot/);
    await init.sees(/TELEGRAM_TOKEN \(it is not shown\): /);
    init.type(`${telegram.token}\r`);
    await init.answer(/It is @svc_test_bot/);
    await init.answer(/TELEGRAM_TOKEN was pasted[^]*keychain of this system/);
    await init.answer(/Who may talk to it/);
    await init.answer(/"pairing": true/);
    await init.sees(/Write to @svc_test_bot now/);
    const chat = telegram.privateChat(telegram.person('Ada'));
    telegram.say(chat, 'Is anybody there?');
    const [{ text } = { text: '' }] = await telegram.waitForSent(1);
    await init.answer(/Ada wrote to the bot, and was given a code/);
    await init.sees(/The code: /);
    init.type('WRONGONE\r');
    await init.answer(/No code like this waits/);
    await init.sees(/The code: /);
    init.type(`${/[A-Z0-9]{4}-[A-Z0-9]{4}/.exec(text)![0]}\r`);
    await init.sees(/Ada may talk from now on/);
    telegram.say(chat, 'Hello!');
    await init.answer(/The answer:[^]*I read: “Hello!”/);
    await init.sees(/svc is running/);
    assert.deepEqual([...init.kept.keys()], ['TELEGRAM_TOKEN', 'ADMIN_TOKEN']);
    assert.equal(init.kept.get('TELEGRAM_TOKEN'), telegram.token);
    for (const value of init.kept.values()) assert.ok(!init.seen().includes(value));
    assert.match(init.file() ?? '', /"admin"/);
    init.interrupt();
    assert.equal(await init.ended, 0);
  });
});
