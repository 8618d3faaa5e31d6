/** The harness round a Bot API server that others wrote, with a bot that others wrote. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bot } from 'grammy';
import { startTestApi } from './fake/telegram-test-api.ts';

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
