/** What the messages of a thread say of its channel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDiscordBench } from '../../../test/fake/discord-bench.ts';
import { startFakeDiscord } from '../../../test/fake/discord.ts';
import { until } from '../../../test/support/waiting.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { MessengerConfig } from '../registry.ts';
import type { Api } from './api.ts';
import { Threads } from './threads.ts';

/** A bot in a server with a channel and a thread. The ledger outlives its runs. */
async function start() {
  await using made = new AsyncDisposableStack();
  const discord = made.use(await startFakeDiscord({ identifyGapMs: 0 }));
  const bench = made.use(await startDiscordBench());
  const config: MessengerConfig = {
    name: 'messenger_b',
    type: 'messenger_b',
    tokenEnv: 'DISCORD_TOKEN' as EnvName,
    baseUrl: discord.url,
    access: null,
    streaming: false,
    gatherMs: 0,
    edits: false,
    speech: null,
  };
  const run = async () => {
    const running = await bench.run({ config, token: discord.token });
    await discord.waitForReady();
    return running;
  };
  const channel = discord.textChannel(discord.guild('House'), 'kitchen');
  const say = (place: typeof channel, text: string): void =>
    void discord.say(place, `<@${discord.bot.id}> ${text}`);
  const aliasesOf = async (text: string): Promise<readonly string[] | undefined> => {
    const of = () => bench.ledger.messages.find((one) => one.text === text);
    await until(`the message ${text}`, () => of() !== undefined);
    return of()!.chatAliases;
  };
  const lookUps = (): number =>
    discord.calls.filter(({ route }) => route === 'GET /channels/:id').length;
  const own = made.move();
  return {
    discord,
    bench,
    channel,
    run,
    say,
    aliasesOf,
    lookUps,
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a thread is known by its channel, whether it was there before or began meanwhile', async () => {
  await using it = await start();
  const { discord, channel } = it;
  const earlier = discord.thread(channel, 'earlier');
  await it.run();
  it.say(earlier, 'one');
  it.say(discord.thread(channel, 'later'), 'two');
  it.say(channel, 'three');
  discord.say(discord.direct(discord.user('Ann')), 'four');
  assert.deepEqual(await it.aliasesOf('one'), [channel.id]);
  assert.deepEqual(await it.aliasesOf('two'), [channel.id]);
  assert.equal(await it.aliasesOf('three'), undefined);
  assert.equal(await it.aliasesOf('four'), undefined);
  assert.equal(it.lookUps(), 0, 'the gateway told all of it');
});

test('after a resume svc asks for a thread once, and never for a channel', async () => {
  await using it = await start();
  const { discord, channel } = it;
  const thread = discord.thread(channel, 'soup');
  const { stop } = await it.run();
  it.say(channel, 'one');
  await it.aliasesOf('one');
  await stop();
  const identified = discord.gateway.startsLeft;
  await it.run();
  for (const text of ['two', 'three']) it.say(thread, text);
  it.say(channel, 'four');
  assert.deepEqual(await it.aliasesOf('two'), [channel.id]);
  assert.deepEqual(await it.aliasesOf('three'), [channel.id]);
  assert.equal(await it.aliasesOf('four'), undefined);
  assert.equal(discord.gateway.startsLeft, identified, 'the session was resumed');
  assert.equal(it.lookUps(), 1);
});

test('a slash command in a thread has the channel, too', async () => {
  await using it = await start();
  const { discord, channel } = it;
  const ann = discord.user('Ann');
  const { channel: connection, stop } = await it.run();
  connection.publishCommands?.({
    commands: [{ word: 'code', description: 'Ask coder', takesText: true }],
    own: new Set(),
  });
  await discord.until(() => discord.slash.registered[0], 'the command');
  await stop();
  await it.run();
  const thread = discord.thread(channel, 'soup');
  discord.choose(ann, thread, 'code', 'fix it');
  assert.deepEqual(await it.aliasesOf('/code fix it'), [channel.id]);
  assert.equal(it.lookUps(), 0);
});

test('while Discord does not tell the channel, the message waits and is not lost', async () => {
  await using it = await start();
  const { discord, channel } = it;
  const thread = discord.thread(channel, 'soup');
  const { stop } = await it.run();
  it.say(channel, 'one');
  await it.aliasesOf('one');
  await stop();
  discord.fail('GET /channels/:id', { kind: 'status', status: 502 }, 5);
  await it.run();
  it.say(thread, 'two');
  assert.deepEqual(await it.aliasesOf('two'), [channel.id]);
  assert.ok(it.lookUps() > 5);
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
