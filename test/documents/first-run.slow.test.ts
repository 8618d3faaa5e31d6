/** The first pages show the real output of `svc init`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { startInit, type InitStage } from '../cli/init-stage.ts';
import { blocksOf, textOf } from './blocks.ts';
import { assertShown } from './run-page.ts';

/** The output that the page shows between its `svc init` and its next command. */
function shownIn(page: string): string {
  const blocks = blocksOf(textOf(page));
  const from = blocks.findIndex(({ info }) => info.includes('terminal')) + 1;
  assert.equal(blocks[from - 1]?.text, 'svc init\n');
  const rest = blocks.slice(from);
  const shown = rest.slice(
    0,
    rest.findIndex(({ info }) => info[0] === 'sh'),
  );
  for (const { info } of shown) assert.deepEqual(info, ['text', 'output']);
  return shown.map(({ text }) => text).join('');
}

/** Ends the first run, and compares its output with the page. */
async function holdAgainst(page: string, init: InitStage): Promise<void> {
  await init.sees(/svc is running\. To stop it, press Ctrl-C in the terminal\.[^]*svc serve/);
  init.interrupt();
  assert.equal(await init.ended, 0);
  const shown = shownIn(page);
  assert.ok(shown.split('\n').length > 15, `${page} shows the first run`);
  assertShown(init.seen(), shown, page);
}

function startModel(): Promise<FakeModel> {
  const answer = { answer: 'Hello! How can I help you today?' };
  return startFakeOllama(answer, { models: ['llama3.2:latest'] });
}

/** Goes from the first question to the choice of a channel. */
async function toChannel(init: InitStage, choice: string): Promise<void> {
  await init.answer(/The model that answers/);
  await init.answer(/llama3\.2 answered in/);
  await init.answer(/Where messages come from/, choice);
}

test('docs/get-started/webhook.md shows what is seen', async () => {
  await using model = await startModel();
  await using init = await startInit({ ollama: model.url, keychain: 'ready' });
  await toChannel(init, '');
  await init.answer(/Where its secrets are kept/);
  await init.sees(/WEBHOOK_SECRET \(it is not shown\): /);
  init.type('\r');
  await init.answer(/Nothing was written so far/);
  await init.answer(/The answer:/);
  await holdAgainst('docs/get-started/webhook.md', init);
});

type Platform = {
  /** Writes to the bot as a person. */
  say(text: string): Promise<void>;
  /** Returns the bot's first message. */
  first(): Promise<string>;
};

/** Goes from the pasted token to the first answer. */
async function pairOn(init: InitStage, platform: Platform, token: string): Promise<void> {
  await init.answer(/1 {2}Paste the token/);
  await init.sees(/_TOKEN \(it is not shown\): /);
  init.type(`${token}\r`);
  await init.answer(/It is /);
  await init.answer(/was pasted[^]*keychain of this system/);
  await init.answer(/Who may talk to it/);
  await init.answer(/"pairing": true/);
  await init.sees(/Write to .* now/);
  await platform.say('Is anybody there?');
  const code = /: (\S+)\. /.exec(await platform.first())![1]!;
  await init.answer(/wrote to the bot\. The bot answered with a code/);
  await init.sees(/The code: /);
  init.type(`${code}\r`);
  await init.sees(/may talk from now on/);
  await platform.say('Hello!');
  await init.answer(/The answer:/);
}

test('docs/get-started/telegram.md shows what is seen', async () => {
  await using model = await startModel();
  await using telegram = await startFakeTelegram();
  await using init = await startInit({
    ollama: model.url,
    platform: telegram.url,
    keychain: 'ready',
  });
  const chat = telegram.privateChat(telegram.person('Ada'));
  await toChannel(init, '2');
  const platform: Platform = {
    say: async (text) => void telegram.say(chat, text),
    first: async () => (await telegram.waitForSent(1))[0]!.text,
  };
  await pairOn(init, platform, telegram.token);
  await holdAgainst('docs/get-started/telegram.md', init);
});

test('docs/get-started/discord.md shows what is seen', async () => {
  await using model = await startModel();
  await using discord = await startFakeDiscord();
  await using init = await startInit({
    ollama: model.url,
    platform: discord.url,
    keychain: 'ready',
  });
  const ada = discord.direct(discord.user('Ada'));
  await toChannel(init, '3');
  const platform: Platform = {
    async say(text) {
      // Discord delivers no message from before the bot was connected.
      await discord.waitForReady();
      discord.say(ada, text);
    },
    first: async () => (await discord.waitForSent(1))[0]!.content,
  };
  await pairOn(init, platform, discord.token);
  await holdAgainst('docs/get-started/discord.md', init);
});
