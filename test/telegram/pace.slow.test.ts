/**
 * Replies on a Telegram that breaks or refuses: from the ledger to the platform. The runner's clock
 * makes a minute pass in a moment.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createTelegramChannel } from '../../src/channels/telegram/telegram.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import { createIdSource } from '../../src/domain/ids.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import { noteEvents } from '../fake/webhook.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { mockedClock } from '../support/hand-clock.ts';
import { echo, openHouse, runningConfigOf } from '../messages/messenger-house.ts';

async function stage(t: TestContext, random = 0.5) {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: Date.now() });
  const { now, steady } = mockedClock;
  const own = new AsyncDisposableStack();
  const telegram = own.use(await startFakeTelegram({ secondMs: 20, limited: true, now }));
  const deadlines = createDeadlines(steady);
  const http = createHttpClient(deadlines);
  own.defer(() => http.close());
  const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const ledger = createMemoryLedger({ now, steady, ids });
  const clock = {
    get now() {
      return Date.now();
    },
  };
  const { host } = openHouse(ledger, clock);
  const channel = createTelegramChannel({
    config: {
      name: 'messenger_a',
      type: 'messenger_a',
      tokenEnv: 'TELEGRAM_TOKEN' as EnvName,
      baseUrl: telegram.url,
      access: null,
      streaming: false,
      gatherMs: 0,
      edits: false,
      speech: null,
    },
    token: telegram.token,
    http,
    deadlines,
    events: noteEvents().events,
    now,
    steady,
    random: () => random,
  });
  assert.equal(await host.use(runningConfigOf(channel, echo('b'), null)), null);
  const begunAt = Date.now();
  return {
    telegram,
    ledger,
    ann: telegram.privateChat(telegram.person('Ann')),
    passedMs: () => Date.now() - begunAt,
    /** Moves the time until the condition holds. Sent messages arrive within eight turns. */
    async until(holds: () => boolean, stepMs = 20): Promise<void> {
      const endAt = Date.now() + 600_000;
      while (!holds()) {
        assert.ok(Date.now() < endAt, `not within ten minutes: ${String(holds)}`);
        t.mock.timers.tick(stepMs);
        for (let turns = 0; turns < 8; turns++) await new Promise(setImmediate);
      }
    },
    sends: () => telegram.callsOf('sendMessage'),
    dead: () => ledger.gauges().deadLetters,
    async [Symbol.asyncDispose]() {
      await ledger[Symbol.asyncDispose]();
      await own.disposeAsync();
    },
  };
}

test('a relay that restarts, and resets whatever comes within 15 s, loses no reply', async (t) => {
  await using it = await stage(t);
  it.telegram.fail('sendMessage', { kind: 'reset' }, 100);
  it.telegram.say(it.ann, 'one');
  it.telegram.say(it.ann, 'two');
  await it.until(() => it.passedMs() > 15_000);
  assert.equal(it.sends().length, 1, 'it is not tried again while the relay is away');
  it.telegram.heal();
  await it.until(() => it.telegram.sent.length === 2);
  assert.deepEqual(
    it.telegram.sent.map(({ text }) => text),
    ['b: one', 'b: two'],
  );
});

test('a relay that answers 502 and then resets, within 15 s, loses no reply', async (t) => {
  await using it = await stage(t);
  it.telegram.fail('sendMessage', { kind: 'html', status: 502 });
  it.telegram.fail('sendMessage', { kind: 'reset' }, 100);
  it.telegram.say(it.ann, 'one');
  await it.until(() => it.passedMs() > 15_000);
  assert.equal(it.sends().length, 1, 'it is not tried again while the relay is away');
  it.telegram.heal();
  await it.until(() => it.telegram.sent.length === 1);
  assert.equal(it.dead(), 0);
});

for (const unseen of [{ kind: 'reset' }, { kind: 'html', status: 504 }] as const) {
  test(`a send whose end is never seen (${unseen.kind}) is made twice, and no more`, async (t) => {
    await using it = await stage(t);
    it.telegram.fail('sendMessage', { ...unseen, done: true }, 100);
    it.telegram.say(it.ann, 'one');
    await it.until(() => it.dead() === 1);
    assert.equal(it.sends().length, 2);
    await it.until(() => it.passedMs() > 300_000, 200);
    assert.equal(it.sends().length, 2);
  });
}

test('40 replies in a group at 20 a minute: none is refused, others do not wait', async (t) => {
  await using it = await stage(t);
  const group = it.telegram.supergroup('Team');
  for (let at = 0; at < 40; at++) {
    it.telegram.say(group, `@${it.telegram.bot.username} ${at}`, {
      from: it.telegram.person('Bo'),
    });
  }
  it.telegram.say(it.ann, 'hello');
  const toAnn = () => it.telegram.sent.some(({ chatId }) => chatId === it.ann.id);
  await it.until(toAnn);
  assert.ok(it.passedMs() < 5_000, `${it.passedMs()} ms`);
  await it.until(() => it.telegram.sent.length === 41);
  assert.equal(it.telegram.limits!.refused, 0);
  const texts = it.telegram.sent.flatMap(({ chatId, text }) => (chatId === group.id ? [text] : []));
  assert.deepEqual(
    texts,
    Array.from({ length: 40 }, (_, at) => `b: ${at}`),
  );
  assert.deepEqual([it.dead(), it.sends().length], [0, 41]);
});

test('600 replies at once at 30 a second: none is refused', async (t) => {
  await using it = await stage(t);
  const chats = Array.from({ length: 100 }, (_, at) => {
    return it.telegram.privateChat(it.telegram.person(`P${at}`));
  });
  for (let at = 0; at < 600; at++) it.telegram.say(chats[at % 100]!, `${at}`);
  await it.until(() => it.telegram.sent.length === 600);
  assert.equal(it.telegram.limits!.refused, 0);
  assert.ok(it.passedMs() < 30_000, `${it.passedMs()} ms`);
});

test('a 429 holds every chat for what it says, and costs the order of none', async (t) => {
  await using it = await stage(t);
  it.telegram.fail('sendMessage', { kind: 'rate-limit', retryAfterSeconds: 90 });
  const bo = it.telegram.privateChat(it.telegram.person('Bo'));
  for (const text of ['one', 'two']) it.telegram.say(it.ann, text);
  await it.until(() => it.sends().length === 1);
  it.telegram.say(bo, 'hello');
  await it.until(() => it.passedMs() > 85_000, 200);
  assert.equal(it.sends().length, 1);
  await it.until(() => it.telegram.sent.length === 3);
  const toAnn = it.telegram.sent.filter(({ chatId }) => chatId === it.ann.id);
  assert.deepEqual(
    toAnn.map(({ text }) => text),
    ['b: one', 'b: two'],
  );
});

test('20 refusals for a second each cost no reply, and are met once a second', async (t) => {
  await using it = await stage(t);
  it.telegram.fail('sendMessage', { kind: 'rate-limit', retryAfterSeconds: 1 }, 20);
  for (const text of ['one', 'two']) it.telegram.say(it.ann, text);
  await it.until(() => it.telegram.sent.length === 2);
  assert.ok(it.passedMs() >= 20_000, `${it.passedMs()} ms`);
  assert.deepEqual(
    it.telegram.sent.map(({ text }) => text),
    ['b: one', 'b: two'],
  );
  assert.deepEqual([it.dead(), it.sends().length], [0, 22]);
});
