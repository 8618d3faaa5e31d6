/** What the messages of a supergroup say of the group that it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotingLedger } from '../../../test/fake/discord-bench.ts';
import { startFakeTelegram } from '../../../test/fake/telegram.ts';
import { noteEvents } from '../../../test/fake/webhook.ts';
import { patienceMs, until } from '../../../test/support/waiting.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { Reply } from '../../domain/reply.ts';
import { systemClock } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { dayMs } from '../../lib/durations.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { Stopper } from '../../lib/stop.ts';
import type { MessengerConfig } from '../registry.ts';
import { FormerChats } from './former-chats.ts';
import { targetOf } from './wire.ts';
import { createTelegramChannel } from './telegram.ts';

/** A bot in privacy mode on a fake Telegram. The ledger outlives its runs. */
async function start() {
  await using made = new AsyncDisposableStack();
  let skippedMs = 0;
  const now = (): number => Date.now() + skippedMs;
  const options = { secondMs: 20, readsAllGroupMessages: false, now };
  const telegram = made.use(await startFakeTelegram(options));
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  made.defer(() => http.close());
  const ledger = new NotingLedger();
  const config: MessengerConfig = {
    name: 'messenger_a',
    type: 'messenger_a',
    tokenEnv: 'TELEGRAM_TOKEN' as EnvName,
    baseUrl: telegram.url,
    access: null,
    streaming: false,
    gatherMs: 0,
    edits: false,
    speech: null,
  };
  const { token } = telegram;
  const { events } = noteEvents();
  const deps = { config, token, http, deadlines, events, ...systemClock, random: Math.random };
  const runs = new Set<() => Promise<void>>();
  made.defer(async () => {
    for (const stop of runs) await stop();
  });
  const run = async () => {
    const channel = createTelegramChannel({ ...deps, times: { heldPauseMs: 20 } });
    await channel.open();
    const ending = new AbortController();
    const running = channel.run(ledger.receive, ending.signal);
    const stop = async (): Promise<void> => {
      runs.delete(stop);
      ending.abort();
      await running;
      await channel[Symbol.asyncDispose]();
    };
    runs.add(stop);
    await telegram.until(() => telegram.isPolled || undefined, 'a poll');
    return { channel, stop };
  };
  /** The other ids of the chat, as the message with that text has them. */
  const aliasesOf = async (text: string): Promise<readonly string[] | undefined> => {
    const of = () => ledger.messages.find((one) => one.text === text);
    await until(`the message ${text}`, () => of() !== undefined);
    return of()!.chatAliases;
  };
  const own = made.move();
  const skip = (ms: number): void => void (skippedMs += ms);
  return {
    telegram,
    ledger,
    run,
    aliasesOf,
    skip,
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a supergroup is known by its former id, in this process and in the next one', async () => {
  await using it = await start();
  const { telegram, ledger } = it;
  const { stop } = await it.run();
  const group = telegram.group('Kitchen');
  telegram.say(group, '/one@svc_test_bot');
  assert.equal(await it.aliasesOf('/one'), undefined);
  const next = telegram.migrate(group);
  telegram.say(next, '/two@svc_test_bot');
  assert.deepEqual(await it.aliasesOf('/two'), [String(group.id)]);
  const other = telegram.supergroup('Garden');
  telegram.say(other, '/three@svc_test_bot');
  assert.equal(await it.aliasesOf('/three'), undefined);
  await stop();
  await it.run();
  telegram.say(next, '/four@svc_test_bot');
  assert.deepEqual(await it.aliasesOf('/four'), [String(group.id)]);
  const stored = ledger.commits.filter(({ place }) => place?.name === 'former_chats');
  assert.equal(stored.length, 1, 'what is stored is not stored again');
});

test('the pair is in the commit of the messages that came with it', async () => {
  await using it = await start();
  const { telegram, ledger } = it;
  const group = telegram.group('Kitchen');
  telegram.say(telegram.migrate(group), '/one@svc_test_bot');
  await it.run();
  assert.deepEqual(await it.aliasesOf('/one'), [String(group.id)]);
  const { place, ids } = ledger.commits.find((one) => one.place?.name === 'former_chats')!;
  assert.equal(ids.length, 1);
  assert.equal(JSON.parse(place!.value)[0][1], group.id);
});

test('a bot that was away for a day learns the pair from the refusal of its reply', async () => {
  await using it = await start();
  const { telegram, ledger } = it;
  const group = telegram.group('Kitchen');
  const next = telegram.migrate(group);
  // Nobody polled, and the server keeps updates for a day.
  it.skip(dayMs + 1);
  const { channel } = await it.run();
  const target = targetOf({ chat: group.id, thread: null, replyTo: null });
  const address = { channel: 'messenger_a:1', target };
  const reply = { id: 'r1', text: 'four', address } as unknown as Reply;
  const attempt = { number: 1, possibleDuplicate: false, late: false };
  const outcome = await channel.deliver(reply, attempt, new Stopper());
  assert.equal(outcome.kind, 'delivered');
  assert.equal(telegram.sent[0]?.chatId, next.id);
  await until('the pair is stored', () => ledger.cursors.has('former_chats'));
  telegram.say(next, '/one@svc_test_bot');
  assert.deepEqual(await it.aliasesOf('/one'), [String(group.id)]);
});

test('a pair that could not be stored is stored with the next batch', async () => {
  const ledger = new NotingLedger();
  const chats = new FormerChats();
  await chats.open(ledger.receive);
  ledger.gate = Promise.reject(new Error('the disk is full'));
  chats.learnNow({ from: -5, to: -1_005 });
  await new Promise(setImmediate);
  const { value } = chats.unstored!;
  assert.equal(value, '[[-1005,-5]]');
  chats.stored(chats.unstored);
  assert.equal(chats.unstored, undefined);
  chats.learn({ from: -5, to: -1_005 });
  assert.equal(chats.unstored, undefined, 'it is known');
});

test('the oldest of too many pairs are forgotten, and an unreadable cursor holds none', async () => {
  const ledger = new NotingLedger();
  ledger.cursors.set('former_chats', '{"no": "pairs"}');
  const chats = new FormerChats();
  await chats.open(ledger.receive);
  for (let one = 1; one <= 2_001; one++) chats.learn({ from: -one, to: -10_000 - one });
  assert.deepEqual(chats.aliasesOf(-10_001), {});
  assert.deepEqual(chats.aliasesOf(-10_002), { chatAliases: ['-2'] });
});
