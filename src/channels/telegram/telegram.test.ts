import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow } from '../../../test/support/hand-clock.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { MessengerConfig } from '../registry.ts';
import type { Reply } from '../../domain/reply.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { testChannel } from '../../../test/contract/channel.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { bot, said, ScriptedTelegram, token } from '../../../test/fake/scripted-telegram.ts';
import { refusal } from '../../../test/fake/sending-telegram.ts';
import { Stopper } from '../../lib/stop.ts';
import { noteAccept, noteEvents } from '../../../test/fake/webhook.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { Channel } from '../channel.ts';
import { createTelegramChannel } from './telegram.ts';

async function start(given: { token?: string; baseUrl?: string } = {}) {
  const telegram = await ScriptedTelegram.start(20);
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const { events, calls } = noteEvents();
  let skippedMs = 0;
  const config: MessengerConfig = {
    name: 'messenger_a',
    type: 'messenger_a',
    tokenEnv: 'TELEGRAM_TOKEN' as EnvName,
    baseUrl: given.baseUrl ?? telegram.url,
    access: null,
    streaming: true,
    gatherMs: 0,
    edits: false,
    speech: null,
  };
  const make = (more: Partial<MessengerConfig> = {}): Channel =>
    createTelegramChannel({
      config: { ...config, ...more },
      token: given.token ?? token,
      http,
      deadlines,
      events,
      now: Date.now,
      steady: () => fromNow(skippedMs),
      random: Math.random,
    });
  return {
    telegram,
    channel: make(),
    make,
    calls,
    /** Lets time pass for the channel alone. */
    skip: (ms: number) => void (skippedMs += ms),
    async [Symbol.asyncDispose]() {
      await http.close();
      await telegram[Symbol.asyncDispose]();
    },
  };
}

const reply = {
  id: 'r1',
  text: 'four',
  address: { channel: 'messenger_a:1', target: '[501,null,null]' },
} as unknown as Reply;

type Button = { readonly callback_data: string };

testChannel('telegram', async () => {
  const it = await start();
  return {
    channel: it.channel,
    hopeless: null,
    reply,
    shown: () => {
      const { params } = it.telegram.callsOf('sendMessage').at(-1)!;
      const markup = params['reply_markup'] as { inline_keyboard: Button[][] } | undefined;
      const buttons = markup?.inline_keyboard.flat() ?? [];
      return { text: String(params['text']), presses: buttons.map((one) => one.callback_data) };
    },
    hasButtons: true,
    cutOff: it.make({ baseUrl: `http://127.0.0.1:${closedPort}` }),
    async [Symbol.asyncDispose]() {
      await it.channel[Symbol.asyncDispose]();
      await it[Symbol.asyncDispose]();
    },
  };
});

test('the key holds the bot’s id, without asking anyone', async () => {
  await using it = await start({ baseUrl: 'http://127.0.0.1:9' });
  assert.deepEqual(await it.channel.open(), { kind: 'opened', key: `messenger_a:${bot.id}` });
  assert.equal(it.telegram.calls.length, 0);
});

test('what is no token makes this channel unfit, and the variable is named', async () => {
  for (const wrong of ['', 'x', 'AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0', '12:short', `${token} x`]) {
    await using it = await start({ token: wrong });
    const opened = await it.channel.open();
    assert.ok(opened.kind === 'unfit');
    assert.match(opened.message, /TELEGRAM_TOKEN/);
    assert.ok(wrong.length < 2 || !opened.message.includes(wrong));
    assert.equal(it.channel.health().state, 'failed');
  }
});

// tdlib/telegram-bot-api#32, #82: asked again, it gives the file.
test('a file that is away for now may be fetched later; a wrong name may not', async () => {
  await using it = await start();
  await it.channel.open();
  const words = ['wrong file_id or the file is temporarily unavailable', 'invalid file_id'];
  for (const [index, description] of words.entries()) {
    it.telegram.plan('getFile', refusal(400, `Bad Request: ${description}`));
    const result = await it.channel.fetch?.('AgACAgIAAxkBAAI', 1_000, new Stopper());
    assert.ok(result?.kind === 'failed');
    assert.deepEqual([result.failure.retryable, result.failure.status], [index === 0, 400]);
  }
});

test('one with the same token and address is the same, whoever may talk there', async () => {
  await using it = await start();
  assert.equal(it.channel.sameAs?.(it.make()), true);
  const access = { allow: ['1'], groups: 'off', pairing: false } as const;
  assert.equal(it.channel.sameAs?.(it.make({ access })), true);
  assert.equal(it.channel.sameAs?.(it.make({ baseUrl: 'http://127.0.0.1:9' })), false);
  for (const mode of [{ streaming: false }, { gatherMs: 1 }, { edits: true }]) {
    assert.equal(it.channel.sameAs?.(it.make(mode)), false);
  }
});

test('it tells whose token it has', async () => {
  await using it = await start();
  const { signal } = new AbortController();
  const known = await it.channel.identify?.(signal);
  assert.deepEqual(known, { kind: 'known', id: String(bot.id), name: `@${bot.username}` });
  it.telegram.plan('getMe', { ok: false, error_code: 401, description: 'Unauthorized' });
  const refused = await it.channel.identify?.(signal);
  assert.ok(refused?.kind === 'refused' && /TELEGRAM_TOKEN/.test(refused.message));
  it.telegram.plan('getMe', { status: 502, page: 'x' });
  assert.equal((await it.channel.identify?.(signal))?.kind, 'unreached');
});

test('it tells that privacy mode holds messages back, unless groups are off', async () => {
  await using it = await start();
  const { signal } = new AbortController();
  const result = { ...bot, can_read_all_group_messages: false };
  it.telegram.plan('getMe', { ok: true, result }, { ok: true, result });
  const told = await it.channel.identify?.(signal);
  assert.match(told?.kind === 'known' ? String(told.note) : '', /privacy mode.* mention/);
  const access = { allow: ['1'], groups: 'off', pairing: false } as const;
  const silent = await it.make({ access }).identify?.(signal);
  assert.deepEqual(silent, { kind: 'known', id: String(bot.id), name: `@${bot.username}` });
});

test('it tells what is no token in the same words as ever, and asks nobody', async () => {
  await using it = await start({ token: '123' });
  const { signal } = new AbortController();
  const message = 'TELEGRAM_TOKEN holds no bot token, which looks like 123456789:AAH…';
  assert.deepEqual(await it.channel.identify?.(signal), { kind: 'refused', message });
  const remedy = 'copy the whole of it from @BotFather, set TELEGRAM_TOKEN to it, restart';
  const opened = await it.channel.open();
  assert.deepEqual(opened, { kind: 'unfit', message: `${message}; ${remedy}` });
  assert.equal(it.telegram.calls.length, 0);
});

test('the direct chat of a person is known without asking', async () => {
  await using it = await start();
  const { signal } = new AbortController();
  const address = { channel: `messenger_a:${bot.id}`, target: '[501,null,null]' };
  assert.deepEqual(await it.channel.direct?.('501', signal), { conversation: '501', address });
  assert.equal(await it.channel.direct?.('-100200', signal), null);
  assert.equal(it.telegram.calls.length, 0);
});

test('a long answer is cut for Telegram, and code goes on as code', async () => {
  await using it = await start();
  const line = `${'let a = 1;'.repeat(9)}\n`;
  const block = `\`\`\`js\n${line.repeat(25)}\`\`\`\n`;
  const parts = it.channel.split?.(block.repeat(5)) ?? [];
  assert.ok(parts.length > 2);
  for (const { text } of parts) assert.match(text, /^```js\n[^]*\n```$/);
  for (const { text } of parts) assert.ok(text.length <= 4_096);
  const [only, ...rest] = it.channel.split?.(`\`\`\`js\n${line.repeat(100)}\`\`\``) ?? [];
  assert.deepEqual([only, rest], [{ text: line.repeat(100), file: { name: 'code.js' } }, []]);
});

test('what it shows of a part is without formatting; a file is as it is', async () => {
  await using it = await start();
  await it.channel.open();
  const text = '- [one](https://a.test)';
  assert.equal(it.channel.plain?.({ text }), '• one');
  assert.equal(it.channel.plain?.({ text, file: { name: 'code.md' } }), text);
});

test('"typing" is shown while it takes a while; that it fails changes nothing', async () => {
  await using it = await start();
  await it.channel.open();
  it.telegram.plan('sendChatAction', 'cut');
  const answered = new AbortController();
  it.channel.showWorking?.({ ...reply.address, target: '[-100200,5,17]' }, answered.signal);
  await it.telegram.until(() => it.telegram.callsOf('sendChatAction').length === 1);
  const [{ params } = { params: {} }] = it.telegram.callsOf('sendChatAction');
  assert.deepEqual(params, { chat_id: -100200, action: 'typing', message_thread_id: 5 });
  answered.abort();
  const quick = new AbortController();
  it.channel.showWorking?.({ ...reply.address, target: '[502,null,null]' }, quick.signal);
  quick.abort();
  const slow = new AbortController();
  it.channel.showWorking?.({ ...reply.address, target: '[503,null,null]' }, slow.signal);
  await it.telegram.until(() => it.telegram.callsOf('sendChatAction').length === 2);
  assert.equal(it.telegram.callsOf('sendChatAction')[1]?.params['chat_id'], 503);
  slow.abort();
});

test('polls are watched by their ends: a loop that hangs shows', async () => {
  await using it = await start();
  const opened = await it.channel.open();
  assert.equal(opened.kind, 'opened');
  const ending = new AbortController();
  const hanging = noteAccept();
  let isHanging = false;
  const hang = (): Promise<never> => {
    isHanging = true;
    return new Promise(() => {});
  };
  const running = it.channel.run(Object.assign(hang, hanging), ending.signal);
  it.telegram.push(said(1, 'hello'));
  await it.telegram.until(() => isHanging);
  it.skip(60_000);
  assert.equal(it.channel.health().state, 'up');
  it.skip(60_000);
  const { state, reason } = it.channel.health();
  assert.deepEqual([state, /^no poll has ended for \d+ s$/.test(reason ?? '')], ['degraded', true]);
  ending.abort();
  void running;
});
