/** The harness around a Bot API server by others, with a bot by others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bot } from 'grammy';
import { startFakeOllama } from '../fake/ollama.ts';
import { startTestApi } from '../fake/telegram-test-api.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch } from '../support/program.ts';
import { writeTelegramConfig } from './program.ts';

test('a bot of grammY hears and answers on telegram-test-api', async () => {
  await using api = await startTestApi();
  const bot = new Bot(api.token, { client: { apiRoot: api.url } });
  bot.on('message:text', (context) => context.reply(`you said: ${context.message.text}`));
  const running = bot.start();
  await api.say('hello');
  await api.waitForReplies(1);
  await api.say('and again');
  const replies = await api.waitForReplies(2);
  await bot.stop();
  await running;
  assert.deepEqual(
    replies.map(({ text, chat_id }) => [text, Number(chat_id)]),
    [
      ['you said: hello', api.chatId],
      ['you said: and again', api.chatId],
    ],
  );
});

test('svc hears and answers on telegram-test-api, and does not press it', async () => {
  await using scene = await scratch();
  await using api = await startTestApi();
  await using model = await startFakeOllama({ answer: '**four**' });
  const where = { telegramUrl: api.url, modelUrl: model.url, adminPort: await freePort() };
  const file = await writeTelegramConfig(scene.path, where);
  await using program = startServe(file, { TELEGRAM_TOKEN: api.token });
  await program.saw('is up');
  await api.say('hello');
  const [reply] = await api.waitForReplies(1);
  assert.deepEqual([reply?.text, Number(reply?.['chat_id'])], ['four', api.chatId]);
});
