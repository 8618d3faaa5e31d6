/** `svc init` at a terminal: from nothing to an answer, and its failures. */
import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { closedPort } from '../fake/closed-port.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { startInit, type InitStage } from './init-stage.ts';
import { freePort, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { openRealTerminal } from '../support/terminal.ts';

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

/** Ctrl-C at a page; it must not have written anything. */
async function leaves(init: InitStage): Promise<void> {
  init.type('\x03');
  assert.equal(await init.ended, 1);
  assert.match(init.seen(), /Nothing was written, and nothing was changed\./);
}

suite('from nothing to an answer', () => {
  test('a webhook: the model answers, the file is written, the first reply is shown', async () => {
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
    await init.sees(/svc is running\. To stop it, press Ctrl-C in the terminal\./);
    const { storage, admin } = JSON.parse(init.file() ?? '') as Record<string, unknown>;
    assert.deepEqual([storage, admin], [{ path: 'svc.db' }, undefined]);
    assert.match(init.seen(), /svc makes one for this run only/);
    assert.match(init.seen(), /svc made WEBHOOK_SECRET for this run only/);
    assert.match(init.seen(), /export WEBHOOK_SECRET="\$\(openssl rand -hex 32\)"/);
    assert.deepEqual([...init.kept()], []);
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
    await init.answer(/Ada wrote to the bot\. The bot answered with a code/);
    await init.sees(/The code: /);
    init.type('WRONGONE\r');
    await init.answer(/No code like this waits/);
    await init.sees(/The code: /);
    init.type(`${/: (\S+)\. /.exec(text)![1]}\r`);
    await init.sees(/Ada may talk from now on/);
    telegram.say(chat, 'Hello!');
    await init.answer(/The answer:[^]*I read: “Hello!”/);
    await init.sees(/svc is running/);
    assert.deepEqual([...init.kept().keys()], ['TELEGRAM_TOKEN', 'ADMIN_TOKEN']);
    assert.equal(init.kept().get('TELEGRAM_TOKEN'), telegram.token);
    for (const value of init.kept().values()) assert.ok(!init.seen().includes(value));
    assert.match(init.file() ?? '', /"admin"/);
    init.interrupt();
    assert.equal(await init.ended, 0);
  });
});

suite('where it does not go well', () => {
  test('a runtime without a model is told from none, and looked at again', async () => {
    const models: string[] = [];
    await using runtime = await startFakeOllama({ answer: 'hello' }, { models });
    await using init = await startInit({ ollama: runtime.url });
    await init.sees(/has no model yet[^]*ollama pull llama3\.2/);
    models.push('qwen3:8b');
    await init.answer(/1 {2}Look again/);
    await init.sees(/1 {2}qwen3:8b/);
    await leaves(init);
    assert.deepEqual(init.names(), []);
  });

  test('a slow first answer is told to be one, and can be skipped', async () => {
    const never = new Promise<void>(() => {});
    await using runtime = await startFakeOllama(
      { answer: 'late', after: never },
      { models: ['m'] },
    );
    await using init = await startInit({ ollama: runtime.url });
    await init.answer(/1 {2}m\n/);
    await init.sees(/Asking m …/);
    await init.sees(/a first answer loads the model\. It has five minutes\./);
    init.type('1\r');
    await init.sees(/Where messages come from/);
    const { over } = await runtime.call(0);
    assert.equal(await over, 'gone');
    await leaves(init);
  });

  test('a model that fails is not asked again by itself: another is chosen', async () => {
    await using runtime = await startFakeOllama({ fail: '400' }, { models: ['m'] });
    await using init = await startInit({ ollama: runtime.url });
    await init.answer(/1 {2}m\n/);
    await init.answer(/m gave no answer: [^]*1 {2}Choose another model/);
    await init.sees(/The model that answers/);
    assert.equal(runtime.calls.length, 1);
    await leaves(init);
  });

  test('a wrong token is told, kept nowhere, and another one may be pasted', async () => {
    await using telegram = await startFakeTelegram();
    await using init = await startInit({
      ollama: nowhere,
      platform: telegram.url,
      keychain: 'ready',
    });
    await toChannel(init);
    await init.answer(/2 {2}Telegram/, '2');
    for (const wrong of ['no-token-at-all', '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALwrong']) {
      await init.answer(/1 {2}Paste /);
      await init.sees(/it is not shown/);
      init.type(`${wrong}\r`);
      await init.sees(/✗ /);
    }
    await init.answer(/1 {2}Paste another token/);
    await init.sees(/it is not shown/);
    init.type(`${telegram.token}\r`);
    await init.sees(/It is @svc_test_bot/);
    assert.doesNotMatch(init.seen(), /no-token-at-all|AAHdqT/);
    assert.deepEqual([...init.kept()], []);
    await leaves(init);
  });

  test('a channel that failed connects anew after "Try again"', async () => {
    await using discord = await startFakeDiscord();
    // MESSAGE CONTENT INTENT is off for the first connection, and on for the next.
    discord.gateway.plan({ kind: 'close', code: 4014, when: 'identify' });
    await using init = await startInit({
      ollama: nowhere,
      platform: discord.url,
      keychain: 'no_bus',
      env: { DISCORD_TOKEN: discord.token },
    });
    await toChannel(init);
    await init.answer(/3 {2}Discord/, '3');
    await init.answer(/It is /);
    await init.answer(/Who may talk to it/, '3');
    await init.answer(/Nothing was written so far/);
    await init.answer(/switch on MESSAGE CONTENT INTENT[^]*1 {2}Try again/);
    await init.sees(/Write to .* now/);
    await discord.waitForReady();
    discord.say(discord.direct(discord.user('Ada')), 'Hello!');
    await init.answer(/The answer:[^]*I read: “Hello!”/);
    await init.sees(/svc is running\. To stop it, press Ctrl-C in the terminal\./);
    init.interrupt();
    assert.equal(await init.ended, 0);
  });

  test('a token of the environment is asked about, and wins over another', async () => {
    await using telegram = await startFakeTelegram();
    const env = { TELEGRAM_TOKEN: telegram.token };
    await using init = await startInit({ ollama: nowhere, platform: telegram.url, env });
    await toChannel(init);
    await init.answer(/2 {2}Telegram/, '2');
    await init.sees(/It is @svc_test_bot[^]*environment, which wins/);
    await init.sees(/\[1\] > /);
    assert.doesNotMatch(init.seen(), /Paste another/);
    await leaves(init);
  });

  test('a locked keychain is told with its remedy, and the way goes on without it', async () => {
    await using init = await startInit({ ollama: nowhere, keychain: 'locked' });
    await toChannel(init);
    await init.answer(/1 {2}Webhook/);
    await init.answer(/The keychain is locked[^]*1 {2}I set them in the environment/);
    await init.sees(/it is not shown/);
    init.type('\r');
    await init.answer(/Write it, and start nothing/, '2');
    await init.sees(/svc\.json is written\.[^]*export WEBHOOK_SECRET=[^]*svc serve/);
    assert.equal(await init.ended, 0);
    assert.deepEqual([...init.kept()], []);
    assert.deepEqual(init.names(), ['svc.json']);
  });

  test('a file that is there is replaced with a backup beside it, under a free name', async () => {
    for (const backup of ['svc.json.backup', 'svc.json.backup-2']) {
      await using init = await startInit({
        ...withFile,
        prepare: async (folder) => {
          await withFile.prepare(folder);
          if (backup.endsWith('2')) await writeFile(join(folder, 'svc.json.backup'), 'before');
        },
      });
      await init.answer(/svc\.json is there already\. It is never overwritten\./, '3');
      await toChannel(init);
      await init.answer(/1 {2}Webhook/);
      await init.answer(/1 {2}I set them/);
      await init.sees(/it is not shown/);
      init.type('\r');
      await init.answer(/Write it, and start nothing/, '2');
      assert.equal(await init.ended, 0);
      assert.ok(init.seen().includes(`The file of before is ${backup}.`), init.seen());
      assert.equal(await readFile(join(init.folder, backup), 'utf8'), there);
      assert.match(init.file() ?? '', /"practice"/);
    }
  });

  test('a file that is there is changed in what was chosen, and in nothing else', async () => {
    await using init = await startInit(withFile);
    await init.answer(/Its channels: Webhook\. It asks old\./, '2');
    await init.answer(/No model runtime answers[^]*1 {2}Keep old/);
    await init.answer(
      /Where messages come from[^]*1 {2}Keep what there is: Webhook[^]*4 {2}Disc/,
      '4',
    );
    await init.answer(/MESSAGE CONTENT INTENT/, '2');
    await init.answer(/Who may talk/, '2');
    await init.sees(/User ids: /);
    init.type('12, 34\r');
    await init.answer(/DISCORD_TOKEN is to be set before a start[^]*1 {2}Write it, and start noth/);
    await init.sees(/export DISCORD_TOKEN='…'/);
    assert.equal(await init.ended, 0);
    const before = JSON.parse(there) as { channels: object[]; routes: object[] };
    const discord = { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN' };
    assert.deepEqual(JSON.parse(init.file() ?? ''), {
      ...before,
      channels: [...before.channels, { ...discord, access: { allow: ['12', '34'] } }],
      routes: [...before.routes, { channel: 'discord', brain: 'own' }],
      storage: { path: 'svc.db' },
    });
  });

  test('a file that is kept is started as it is; what it lacks is told', async () => {
    await using init = await startInit(withFile);
    await init.answer(/1 {2}Keep it, and start/);
    await init.answer(/It did not start:[^]*HOOK is not set/, 'q');
    assert.equal(await init.ended, 1);
    assert.equal(init.file(), there);
  });
});

test('Ctrl-C at any page leaves everything as it was', async () => {
  const pages = [
    /The model that answers/,
    /A first answer/,
    /Where messages come from/,
    /Where its secrets are kept/,
    /The file/,
  ];
  for (const last of pages.keys()) {
    await using init = await startInit({ ollama: nowhere });
    for (const [at, page] of pages.entries()) {
      await init.sees(page);
      await init.sees(/\[\w\] > /);
      if (at === last) break;
      init.type(at === 0 ? '3\r' : '\r');
      if (at !== 3) continue;
      await init.sees(/it is not shown/);
      init.type('\r');
    }
    await leaves(init);
    assert.deepEqual(init.names(), [], String(pages[last]));
  }
});

test('Ctrl-C while a secret is typed leaves, too', async () => {
  await using init = await startInit({ ollama: nowhere });
  await toChannel(init);
  await init.answer(/1 {2}Webhook/);
  await init.answer(/1 {2}I set them/);
  await init.sees(/it is not shown/);
  init.type('half-of-a-secret');
  await leaves(init);
  assert.doesNotMatch(init.seen(), /half-of/);
  assert.deepEqual(init.names(), []);
});

test('at a real terminal a secret is not shown, and Ctrl-C leaves', async () => {
  await using folder = await scratch();
  const env = { HOME: folder.path, OLLAMA_HOST: nowhere, DBUS_SESSION_BUS_ADDRESS: '' };
  await using terminal = openRealTerminal(['init'], { cwd: folder.path, env });
  const answer = async (page: RegExp, keys = ''): Promise<void> => {
    await terminal.sees(page);
    await terminal.sees(/\[\w\] > /);
    terminal.type(`${keys}\r`);
  };
  // On any machine the practice model comes before models elsewhere.
  await terminal.sees(/(\d+) {2}Begin with the practice model[^]*\[\w\] > /);
  const practice = [...terminal.seen().matchAll(/(\d+) {2}Begin/g)].at(-1)!;
  terminal.type(`${practice[1]}\r`);
  await answer(/the practice model answered in/);
  await answer(/Where messages come from/);
  await answer(/Where its secrets are kept/);
  await terminal.sees(/it is not shown/);
  terminal.type('a-secret-that-is-pasted\r');
  await terminal.sees(/Nothing was written so far[^]*\[\w\] > /);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 1);
  assert.match(terminal.seen(), /Nothing was written, and nothing was changed\./);
  assert.doesNotMatch(terminal.seen(), /a-secret-that/);
  assert.deepEqual(await readdir(folder.path), []);
});

test('at a real terminal a kept file is started, answers, and is ended by Ctrl-C', async () => {
  await using runtime = await startFakeOllama({ answer: 'Hello from it.' });
  await using folder = await scratch();
  const receiverUrl = `http://127.0.0.1:${await freePort()}/reply`;
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, receiverUrl, modelUrl: runtime.url };
  // With storage a reply without a receiver does not delay the end.
  await writeConfig(folder.path, { ...webhookConfig(where), storage: { path: 'svc.db' } });
  const env = { HOME: folder.path, WEBHOOK_SECRET: secret };
  await using terminal = openRealTerminal(['init'], { cwd: folder.path, env });
  await terminal.sees(/1 {2}Keep it, and start[^]*\[\w\] > /);
  terminal.type('\r');
  await terminal.sees(/The answer:[^]*Hello from it\.[^]*\[\w\] > /);
  terminal.type('\r');
  await terminal.sees(/To stop it, press Ctrl-C/);
  const response = await fetch(`http://127.0.0.1:${port}/webhook`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sender_id: 'somebody', text: 'Are you there?' }),
  });
  assert.equal(response.status, 200);
  await terminal.sees(/somebody on webhook: answered by \S+ \([A-Z].*\) in/);
  terminal.interrupt();
  assert.equal(await terminal.ended, 0, terminal.seen());
  assert.ok(!terminal.seen().includes(secret));
});
