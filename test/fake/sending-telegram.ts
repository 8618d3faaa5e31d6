/** The sender of replies to Telegram, alone, with its pace. */
import { patienceMs } from '../support/waiting.ts';
import { BotApi } from '../../src/channels/telegram/bot-api.ts';
import { loadLexer } from '../../src/channels/telegram/markdown.ts';
import { pollTimes } from '../../src/channels/telegram/polling.ts';
import {
  createRoom,
  telegramKind,
  TelegramPlatform,
} from '../../src/channels/telegram/telegram.ts';
import { parseTarget } from '../../src/channels/telegram/wire.ts';
import { deliver } from '../../src/channels/messenger/delivery.ts';
import type { Attempt, DeliveryOutcome, Reply } from '../../src/domain/reply.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { handClock } from '../support/hand-clock.ts';
import { ScriptedTelegram, token, type Planned } from './scripted-telegram.ts';

/** A first attempt. */
export const first = { number: 1, possibleDuplicate: false, late: false };

/** Replies on their way to a Bot API with a script. Time stands still until the test moves it. */
export async function startSending(
  given: { baseUrl?: string; random?: () => number; paced?: true } = {},
) {
  const wide = { everyMs: 0, burst: 1 };
  const limits = given.paced ? {} : { bot: wide, person: wide, group: wide };
  const telegram = await ScriptedTelegram.start();
  const clock = handClock();
  const { deadlines, steady } = clock;
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const { baseUrl = telegram.url } = given;
  const parts = { token, config: { baseUrl }, http, ...clock };
  const room = createRoom({ steady, deadlines }, limits);
  const api = new BotApi(parts);
  const random = given.random ?? (() => 0);
  const platform = new TelegramPlatform(
    { ...parts, random } as never,
    api,
    await loadLexer(),
    room,
    pollTimes,
  );
  const deps = { kind: telegramKind, platform, token, random };
  const send = (reply: Reply, attempt: Attempt, by: AbortSignal): Promise<DeliveryOutcome> =>
    deliver(deps, reply, parseTarget(reply.address)!, attempt, by);
  const { signal } = new AbortController();
  return {
    telegram,
    clock,
    send: (text: string, target = '[501,null,null]', attempt = first, by = signal, id = 'r1') =>
      send(replyTo(target, text, id), attempt, by),
    ask: (...says: readonly string[]) => {
      const choices = says.map((one) => ({ label: one.split(' ')[0]!, says: one }));
      const reply = { ...replyTo('[501,null,null]', '**May I?**'), choices };
      return send(reply, first, signal);
    },
    payloads: () => telegram.callsOf('sendMessage').map(({ params }) => params),
    async [Symbol.asyncDispose]() {
      await http.close();
      await telegram[Symbol.asyncDispose]();
    },
  };
}

function replyTo(target: string, text: string, id = 'r1'): Reply {
  return { id, text, address: { channel: 'messenger_a:1', target } } as unknown as Reply;
}

export const refusal = (error_code: number, description: string, parameters = {}): Planned => ({
  ok: false,
  error_code,
  description,
  parameters,
});
