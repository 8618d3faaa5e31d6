/** The fake of Telegram, through grammY: a client by others. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Api, Bot, GrammyError, HttpError } from 'grammy';
import { startFakeTelegram, type FakeTelegram, type TelegramOptions } from '../fake/telegram.ts';

/** A day and some, and a week and some, in milliseconds. */
const [overADay, overAWeek] = [25 * 60 * 60 * 1_000, 8 * 24 * 60 * 60 * 1_000];

const apiOf = (fake: FakeTelegram): Api => new Api(fake.token, { apiRoot: fake.url });

/** grammY's own type. */
type Signal = NonNullable<Parameters<Api['getMe']>[0]>;

/**
 * grammY's default transport does not notice an answer that breaks off, and would wait. So the test
 * aborts the call once the fake has finished it, and then it fails.
 */
async function givenUp(
  fake: FakeTelegram,
  method: string,
  call: (signal: Signal) => Promise<unknown>,
): Promise<void> {
  const before = fake.callsOf(method).length;
  const leaving = new AbortController();
  const failed = assert.rejects(call(leaving.signal as unknown as Signal), HttpError);
  await fake.until(() => fake.callsOf(method)[before]?.over || undefined, `the end of ${method}`);
  leaving.abort();
  await failed;
}

/** A fake whose clock stands until a test moves it, and one person who talks to the bot. */
async function stage(options: TelegramOptions = {}) {
  const clock = { at: Date.parse('2026-11-20T12:00:00Z') };
  const fake = await startFakeTelegram({ now: () => clock.at, secondMs: 20, ...options });
  const ann = fake.person('Ann', { username: 'ann' });
  const chat = fake.privateChat(ann);
  const say = (...texts: string[]): void => {
    for (const text of texts) fake.say(chat, text);
  };
  const dispose = (): Promise<void> => fake[Symbol.asyncDispose]();
  return { fake, api: apiOf(fake), clock, ann, chat, say, [Symbol.asyncDispose]: dispose };
}

/** The error of a refused call. */
async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => 'it was not refused',
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof GrammyError, String(error));
  return `${error.error_code} ${error.description}`;
}

const textsOf = (updates: readonly { message?: { text?: string } }[]): (string | undefined)[] =>
  updates.map(({ message }) => message?.text);

test('a bot of grammY receives what a person says, and its reply arrives', async () => {
  await using fake = await startFakeTelegram();
  const chat = fake.privateChat(fake.person('Ann'));
  const bot = new Bot(fake.token, { client: { apiRoot: fake.url } });
  bot.command('start', (context) => context.reply('welcome'));
  bot.on('message:text', (context) => context.reply(`you said: ${context.message.text}`));
  fake.say(chat, 'said before it started');
  const running = bot.start();
  fake.say(chat, '/start');
  await fake.waitForSent(2);
  await fake.until(() => fake.isPolled || undefined, 'the next poll');
  fake.say(chat, 'hello');
  const sent = await fake.waitForSent(3);
  await bot.stop();
  await running;
  assert.deepEqual(
    sent.map(({ text }) => text),
    ['you said: said before it started', 'welcome', 'you said: hello'],
  );
  assert.equal(sent[0]?.chatId, chat.id);
  assert.equal(fake.confirmed.length, 3);
  assert.equal(fake.pending, 0);
});

test('a bot of grammY waits out a 429, and is ended by a 409', async () => {
  await using fake = await startFakeTelegram();
  const chat = fake.privateChat(fake.person('Ann'));
  const make = (): Bot => {
    const bot = new Bot(fake.token, { client: { apiRoot: fake.url } });
    bot.on('message:text', (context) => context.reply('heard'));
    return bot;
  };
  fake.fail('getUpdates', { kind: 'rate-limit', retryAfterSeconds: 1 });
  const first = make();
  const ended = first.start();
  fake.say(chat, 'hello');
  await fake.waitForSent(1);
  await fake.until(() => fake.isPolled || undefined, 'the next poll');
  const second = make();
  const running = second.start();
  assert.match(await refusalOf(ended), /^409 Conflict: terminated by other getUpdates request/);
  fake.say(chat, 'still there?');
  await fake.waitForSent(2);
  await second.stop();
  await running;
});

suite('getUpdates', () => {
  test('gives the same updates until a higher offset confirms them', async () => {
    await using world = await stage();
    const { api, fake, say } = world;
    say('one', 'two', 'three');
    const all = await api.getUpdates();
    assert.deepEqual(textsOf(all), ['one', 'two', 'three']);
    assert.deepEqual(fake.confirmed, []);
    const second = all[1]!.update_id;
    assert.deepEqual(textsOf(await api.getUpdates({ offset: second })), ['two', 'three']);
    assert.deepEqual(fake.confirmed, [all[0]!.update_id]);
    world.clock.at += 1_000;
    assert.deepEqual(textsOf(await api.getUpdates({ offset: second, limit: 1 })), ['two']);
    world.clock.at += 1_000;
    assert.deepEqual(textsOf(await api.getUpdates()), ['two', 'three'], 'what is left');
  });

  test('a negative offset gives the last ones and forgets those before', async () => {
    await using world = await stage();
    const { api, say } = world;
    say('one', 'two', 'three');
    assert.deepEqual(textsOf(await api.getUpdates({ offset: -2 })), ['two', 'three']);
    assert.deepEqual(textsOf(await api.getUpdates()), ['two', 'three']);
  });

  test('an offset far past the end confirms nothing, a little past it all', async () => {
    await using world = await stage();
    const { api, say } = world;
    say('one');
    const [update] = await api.getUpdates();
    const far = update!.update_id + 1_000;
    assert.deepEqual(textsOf(await api.getUpdates({ offset: far })), ['one']);
    assert.deepEqual(await api.getUpdates({ offset: update!.update_id + 5 }), []);
    assert.deepEqual(await api.getUpdates(), []);
  });

  test('a poll that repeats its offset within half a second gets one update', async () => {
    await using world = await stage();
    const { api, say } = world;
    say('one', 'two');
    assert.equal((await api.getUpdates()).length, 2);
    assert.equal((await api.getUpdates()).length, 1);
    world.clock.at += 1_000;
    assert.equal((await api.getUpdates()).length, 2);
  });

  test('a long poll waits for an update, or for its time-out', async () => {
    await using world = await stage({ secondMs: 400 });
    const { api, fake, say } = world;
    const waiting = api.getUpdates({ timeout: 50 });
    await fake.until(() => fake.isPolled || undefined, 'a poll');
    say('at last');
    assert.deepEqual(textsOf(await waiting), ['at last']);
    const next = (await api.getUpdates())[0]!.update_id + 1;
    assert.deepEqual(await api.getUpdates({ offset: next, timeout: 1 }), []);
  });

  test('the types asked for stay asked for, and what came of others is never kept', async () => {
    await using world = await stage();
    const { api, fake, chat } = world;
    await api.getUpdates({ allowed_updates: ['message'] });
    const message = fake.say(chat, 'said');
    fake.edit(chat, message.message_id, 'edited');
    assert.equal(fake.push('callback_query', { id: '1' }), null);
    assert.deepEqual(textsOf(await api.getUpdates()), ['said']);
    await api.getUpdates({ allowed_updates: [] });
    fake.edit(chat, message.message_id, 'edited again');
    assert.equal(fake.push('message_reaction', {}), null, 'not among the default ones');
    world.clock.at += 1_000;
    const last = (await api.getUpdates()).at(-1);
    assert.equal(last?.edited_message?.text, 'edited again');
  });

  test('a second poll ends the first, a webhook ends any', async () => {
    await using world = await stage({ secondMs: 400 });
    const { api, fake } = world;
    const first = refusalOf(api.getUpdates({ timeout: 50 }));
    await fake.until(() => fake.isPolled || undefined, 'a poll');
    const second = api.getUpdates({ timeout: 50 });
    assert.match(await first, /^409 Conflict: terminated by other getUpdates request/);
    world.clock.at += 10_000;
    fake.setWebhook('https://example.org/hook');
    assert.match(await refusalOf(second), /^409 Conflict: terminated by setWebhook request/);
    assert.match(await refusalOf(api.getUpdates()), /^409 Conflict: can't use getUpdates method/);
    await api.deleteWebhook();
    assert.deepEqual(await api.getUpdates(), []);
  });

  test('deleteWebhook keeps what waits, unless it is asked to drop it', async () => {
    await using world = await stage();
    const { api, fake, say } = world;
    say('kept');
    await api.deleteWebhook({ drop_pending_updates: false });
    assert.equal(fake.pending, 1);
    await api.deleteWebhook({ drop_pending_updates: true });
    assert.equal(fake.pending, 0);
  });

  test('an update is kept for 24 hours, and after a quiet week numbers start anew', async () => {
    const draws = [0.5, 0.1];
    await using world = await stage({ random: () => draws.shift() ?? 0 });
    const { api, fake, say } = world;
    say('old');
    const [old] = await api.getUpdates();
    world.clock.at += overADay;
    assert.deepEqual(await api.getUpdates(), []);
    say('next');
    assert.equal((await api.getUpdates())[0]?.update_id, old!.update_id + 1);
    world.clock.at += overAWeek;
    say('after a week');
    const [late] = await api.getUpdates();
    assert.ok(late!.update_id < old!.update_id, 'the new number is another one');
    // A bot that kept its offset still receives the message…
    const kept = await api.getUpdates({ offset: old!.update_id + 2 });
    assert.deepEqual(textsOf(kept), ['after a week']);
    // …unless the numbers start just below that offset: then the message is lost silently.
    fake.restartUpdateIds(old!.update_id);
    say('lost');
    assert.deepEqual(await api.getUpdates({ offset: old!.update_id + 2 }), []);
    assert.equal(fake.pending, 0);
  });
});

suite('a bad answer on demand', () => {
  test('a message that was sent may look as if it was not', async () => {
    await using world = await stage();
    const { api, fake, chat } = world;
    fake.fail('sendMessage', { kind: 'reset', done: true });
    await assert.rejects(api.sendMessage(chat.id, 'reset'), HttpError);
    fake.fail('sendMessage', { kind: 'cut', done: true });
    await givenUp(fake, 'sendMessage', (signal) => api.sendMessage(chat.id, 'cut', {}, signal));
    fake.fail('sendMessage', { kind: 'reset' });
    await assert.rejects(api.sendMessage(chat.id, 'never sent'), HttpError);
    assert.deepEqual(
      fake.sent.map(({ text }) => text),
      ['reset', 'cut'],
    );
  });

  test('a page instead of JSON, a hang, a drip, a late answer, a 429', async () => {
    await using world = await stage();
    const { api, fake, chat, say } = world;
    fake.fail('getMe', { kind: 'html', status: 502 });
    await assert.rejects(api.getMe(), HttpError);
    fake.fail('getMe', { kind: 'hang' });
    await givenUp(fake, 'getMe', (signal) => api.getMe(signal));
    say('slowly');
    fake.fail('getUpdates', { kind: 'drip', everyMs: 1, done: true });
    assert.deepEqual(textsOf(await api.getUpdates()), ['slowly']);
    fake.fail('*', { kind: 'late', afterMs: 50 });
    assert.equal((await api.getMe()).id, fake.bot.id);
    fake.fail('sendMessage', { kind: 'rate-limit', retryAfterSeconds: 7 });
    const error: unknown = await api.sendMessage(chat.id, 'x').catch((reason: unknown) => reason);
    assert.ok(error instanceof GrammyError);
    assert.equal(error.description, 'Too Many Requests: retry after 7');
    assert.deepEqual(error.parameters, { retry_after: 7 });
    assert.equal(fake.sent.length, 0);
  });

  test('a poll that breaks off confirms nothing', async () => {
    await using world = await stage();
    const { api, fake, say } = world;
    say('one');
    fake.fail('getUpdates', { kind: 'cut', done: true });
    await givenUp(fake, 'getUpdates', (signal) => api.getUpdates({}, signal));
    world.clock.at += 1_000;
    assert.deepEqual(textsOf(await api.getUpdates()), ['one']);
  });

  test('a token that is wrong or no longer valid is a 401, an unknown method a 404', async () => {
    await using world = await stage();
    const { api, fake } = world;
    const other = new Api('1:wrong', { apiRoot: fake.url });
    assert.equal(await refusalOf(other.getMe()), '401 Unauthorized');
    const shapeless = new Api('no-token', { apiRoot: fake.url });
    assert.equal(await refusalOf(shapeless.getMe()), '404 Not Found');
    const unknown = await fetch(`${fake.url}/bot${fake.token}/sendNothing`);
    assert.deepEqual(await unknown.json(), {
      ok: false,
      error_code: 404,
      description: 'Not Found: method not found',
    });
    fake.revokeToken();
    assert.equal(await refusalOf(api.getMe()), '401 Unauthorized');
  });

  test('a server that is away refuses connections until it is back', async () => {
    await using world = await stage();
    const { api, fake } = world;
    await fake.close();
    await assert.rejects(api.getMe(), HttpError);
    await fake.listen();
    assert.equal((await api.getMe()).username, fake.bot.username);
  });
});
