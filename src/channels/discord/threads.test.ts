/** What the messages of a thread say of its channel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBots } from '../../../test/fake/bots.ts';
import type { Api } from './api.ts';
import { Threads } from './threads.ts';

/** A bot in a server with a channel. */
async function start() {
  await using made = new AsyncDisposableStack();
  const bot = await made.use(await openBots()).discord();
  const { platform } = bot;
  const channel = platform.textChannel(platform.guild('House'), 'kitchen');
  const own = made.move();
  return {
    ...bot,
    channel,
    say: (place: typeof channel, text: string): void =>
      void platform.say(place, `<@${platform.bot.id}> ${text}`),
    aliasesOf: async (text: string) => (await bot.said(text)).chatAliases,
    lookUps: () => platform.calls.filter(({ route }) => route === 'GET /channels/:id').length,
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a thread is known by its channel, old or begun meanwhile', async () => {
  await using it = await start();
  const { platform, channel } = it;
  const earlier = platform.thread(channel, 'earlier');
  await it.run();
  it.say(earlier, 'one');
  it.say(platform.thread(channel, 'later'), 'two');
  it.say(channel, 'three');
  platform.say(platform.direct(platform.user('Ann')), 'four');
  assert.deepEqual(await it.aliasesOf('one'), [channel.id]);
  assert.deepEqual(await it.aliasesOf('two'), [channel.id]);
  assert.equal(await it.aliasesOf('three'), undefined);
  assert.equal(await it.aliasesOf('four'), undefined);
  assert.equal(it.lookUps(), 0, 'the gateway told all of it');
});

test('after a resume svc asks for a thread once, and never for a channel', async () => {
  await using it = await start();
  const { platform, channel } = it;
  const thread = platform.thread(channel, 'soup');
  const { stop } = await it.run();
  it.say(channel, 'one');
  await it.said('one');
  await stop();
  const left = platform.gateway.startsLeft;
  await it.run();
  for (const text of ['two', 'three']) it.say(thread, text);
  it.say(channel, 'four');
  assert.deepEqual(await it.aliasesOf('two'), [channel.id]);
  assert.deepEqual(await it.aliasesOf('three'), [channel.id]);
  assert.equal(await it.aliasesOf('four'), undefined);
  assert.equal(platform.gateway.startsLeft, left, 'the session was resumed');
  assert.equal(it.lookUps(), 1);
});

test('a slash command in a thread has the channel, too, and its text', async () => {
  await using it = await start();
  const { platform, channel } = it;
  const { channel: connection, stop } = await it.run();
  const commands = [{ word: 'code', description: 'Ask coder', takesText: true }];
  connection.publishCommands?.({ commands, own: new Set() });
  await platform.until(() => platform.slash.registered[0], 'the command');
  const thread = platform.thread(channel, 'soup');
  await stop();
  await it.run();
  platform.choose(platform.user('Ann'), thread, 'code', 'fix it');
  const { chatAliases, setting } = await it.said('/code fix it');
  assert.deepEqual([chatAliases, setting], [[channel.id], 'addressed']);
  await platform.until(() => platform.slash.chosen[0]?.original ?? undefined, 'the deferral');
  assert.equal(it.lookUps(), 0);
});

test('while Discord does not tell the channel, the message waits and is not lost', async () => {
  await using it = await start();
  const { platform, channel } = it;
  const thread = platform.thread(channel, 'soup');
  const { stop } = await it.run();
  it.say(channel, 'one');
  await it.said('one');
  await stop();
  platform.fail('GET /channels/:id', { kind: 'status', status: 502 }, 5);
  await it.run();
  it.say(thread, 'two');
  assert.deepEqual(await it.aliasesOf('two'), [channel.id]);
  assert.ok(it.lookUps() > 5);
});

test('where no route names chats, svc asks for no thread', async () => {
  await using it = await start();
  const { platform, channel, ledger } = it;
  const thread = platform.thread(channel, 'soup');
  const { stop } = await it.run();
  it.say(channel, 'one');
  await it.said('one');
  await stop();
  ledger.namesChats = false;
  await it.run();
  it.say(thread, 'two');
  assert.equal(await it.aliasesOf('two'), undefined);
  assert.equal(it.lookUps(), 0);
});

test('a place that the bot may not see is no thread, and the oldest are forgotten', async () => {
  const asked: string[] = [];
  const answer = { kind: 'refused', status: 404, code: 10_003, description: 'Unknown Channel' };
  const call = async (_: string, route: string) => (asked.push(route), answer);
  const threads = new Threads({ call } as unknown as Api);
  const { signal } = new AbortController();
  for (let time = 0; time < 2; time++) assert.equal(await threads.channelOf('7', signal), null);
  assert.deepEqual(asked, ['/channels/7']);
  for (let id = 100; id < 10_100; id++) {
    threads.note('THREAD_CREATE', { id: String(id), type: 11, parent_id: '5' });
  }
  assert.equal(await threads.channelOf('10099', signal), '5');
  assert.equal(await threads.channelOf('7', signal), null);
  assert.equal(asked.length, 2);
});
