/**
 * A Bot API server by others, as a second opinion on the channel: the package telegram-test-api,
 * https://github.com/jehy/telegram-test-api. It ignores `offset` and `timeout`: an empty answer
 * comes at once, and it gives an update once. It knows no sendChatAction, and checks no text. So it
 * serves a smoke test only; other tests use the fake in `telegram.ts`.
 */
import { TelegramServer } from 'telegram-test-api/lib/telegramServer.js';
import { freePort } from '../support/program.ts';
import { Watch } from './watch.ts';

/** The parameters of a bot's sendMessage. */
export type TestApiReply = Readonly<Record<string, unknown>> & { readonly text: string };

export type TestApi = AsyncDisposable & {
  /** The value for `base_url`. */
  readonly url: string;
  readonly token: string;
  /** The private chat of `say`. */
  readonly chatId: number;
  readonly replies: () => readonly TestApiReply[];
  readonly say: (text: string) => Promise<void>;
  /** Waits until the bot has sent n messages. */
  readonly waitForReplies: (n: number) => Promise<readonly TestApiReply[]>;
};

/** Starts one on a free port of 127.0.0.1. */
export async function startTestApi(): Promise<TestApi> {
  const port = await freePort();
  const token = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0';
  const chatId = 501;
  const server = new TelegramServer({ port, host: '127.0.0.1' });
  const watch = new Watch();
  server.on('AddedBotMessage', () => watch.changed());
  await server.start();
  const replies = (): readonly TestApiReply[] =>
    server.getUpdatesHistory(token).flatMap((update) => {
      const sentByBot = 'message' in update && 'chat_id' in update.message;
      return sentByBot ? [update.message] : [];
    });
  return {
    url: server.config.apiURL,
    token,
    chatId,
    replies,
    async say(text) {
      const from = { id: chatId, is_bot: false, first_name: 'Ann' };
      const chat = { id: chatId, type: 'private' as const, first_name: 'Ann' };
      const date = Math.floor(Date.now() / 1_000);
      await server.addUserMessage({ botToken: token, from, chat, date, text });
    },
    waitForReplies(n) {
      const find = (): readonly TestApiReply[] | undefined => {
        const sent = replies();
        return sent.length >= n ? sent : undefined;
      };
      return watch.until(find, `${n} replies`);
    },
    async [Symbol.asyncDispose]() {
      watch.close();
      await server.stop();
    },
  };
}
