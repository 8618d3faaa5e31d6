/** The fake of Discord, used by discord.js 14: a client by others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import {
  Client,
  DiscordAPIError,
  Events,
  GatewayIntentBits,
  MessageFlags,
  Partials,
} from 'discord.js';
import { startFakeDiscord, type DiscordOptions, type FakeDiscord } from '../fake/discord.ts';

const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits;
const allIntents = [Guilds, GuildMessages, DirectMessages, MessageContent];

function clientOf(fake: FakeDiscord, intents: readonly number[] = allIntents): Client {
  const rest = { api: fake.url, retries: 0 };
  return new Client({ intents: [...intents], partials: [Partials.Channel], rest });
}

/** A ready bot of discord.js in a guild with one channel; it notes its events. */
async function stage(options: DiscordOptions = {}, intents?: readonly number[]) {
  const fake = await startFakeDiscord({ identifyGapMs: 0, ...options });
  const guild = fake.guild('Team');
  const channel = fake.textChannel(guild, 'general');
  const ann = fake.user('Ann');
  const client = clientOf(fake, intents);
  const heard: string[] = [];
  client.on(Events.MessageCreate, (message) => {
    if (message.author.id !== fake.bot.id) heard.push(message.content);
  });
  client.on(Events.Error, () => {});
  const ready = once(client, Events.ClientReady);
  await client.login(fake.token);
  await ready;
  const hears = async (n: number): Promise<readonly string[]> => {
    while (heard.length < n) await once(client, Events.MessageCreate);
    return heard;
  };
  const dispose = async (): Promise<void> => {
    await client.destroy();
    await fake[Symbol.asyncDispose]();
  };
  return { fake, guild, channel, ann, client, heard, hears, [Symbol.asyncDispose]: dispose };
}

/** Waits until the connection of this number has resumed. */
const resumed = (fake: FakeDiscord, index: number) =>
  fake.until(() => fake.gateway.connections[index]?.resume ?? undefined, `resume ${index}`);

test('a bot of discord.js receives what people say, and its replies arrive', async () => {
  await using world = await stage();
  const { fake, client, channel, ann } = world;
  const replies: Promise<unknown>[] = [];
  client.on(Events.MessageCreate, (message) => {
    if (message.author.id === fake.bot.id) return;
    replies.push(message.reply({ content: `you said: ${message.content}`, nonce: '1' }));
  });
  const direct = fake.direct(ann);
  fake.say(direct, 'hello');
  await fake.waitForSent(1);
  const question = fake.say(channel, `<@${fake.bot.id}> hello`, { author: ann });
  const [first, second] = await fake.waitForSent(2);
  assert.equal(first?.content, 'you said: hello');
  assert.equal(first?.channelId, direct.id);
  assert.equal(second?.channelId, channel.id);
  assert.equal(second?.message.type, 19);
  assert.equal(second?.message.referenced_message?.id, question.id);
  assert.equal(client.guilds.cache.first()?.name, 'Team');
  // The end of the fake would break off the answers that the client still reads.
  await Promise.all(replies);
});

suite('a session', { concurrency: true }, () => {
  test('that lost its connection is resumed and given what it missed, in order', async () => {
    await using world = await stage();
    const { fake, channel, hears } = world;
    fake.say(channel, 'one');
    await hears(1);
    fake.gateway.drop();
    fake.say(channel, 'two');
    fake.say(channel, 'three');
    assert.deepEqual(await hears(3), ['one', 'two', 'three']);
    const [first, second] = fake.gateway.connections;
    assert.ok(first?.identify !== null);
    assert.ok(second?.path.startsWith('/resume'), 'it came to the resume_gateway_url');
    assert.equal(second?.identify, null);
    assert.equal(fake.gateway.startsLeft, 999);
  });

  test('is resumed when the gateway asks for it, or its close code allows it', async () => {
    await using world = await stage();
    const { fake, channel, hears } = world;
    fake.gateway.askToReconnect();
    await resumed(fake, 1);
    await fake.waitForReady();
    fake.gateway.closeAll(4_000);
    await resumed(fake, 2);
    fake.say(channel, 'still there?');
    assert.deepEqual(await hears(1), ['still there?']);
    assert.equal(fake.gateway.startsLeft, 999, 'identified once');
  });

  test('that is invalid begins anew, and what was said meanwhile is found over REST', async () => {
    await using world = await stage();
    const { fake, channel, client, hears } = world;
    const before = fake.say(channel, 'before');
    await hears(1);
    fake.gateway.forgetSessions();
    fake.gateway.drop();
    for (const text of ['lost one', 'lost two', 'lost three']) fake.say(channel, text);
    await fake.until(() => (fake.gateway.startsLeft === 998 ? true : undefined), 'an IDENTIFY');
    await fake.waitForReady();
    const there = await client.channels.fetch(channel.id);
    assert.ok(there?.isTextBased());
    const missed = await there.messages.fetch({ after: before.id, limit: 2 });
    assert.deepEqual(
      missed.map(({ content }) => content),
      ['lost two', 'lost one'],
    );
  });

  test('without acknowledged heartbeats is left by the client, and resumed', async () => {
    await using world = await stage();
    const { gateway } = world.fake;
    // Fast heartbeats only within a session: discord.js errs when it leaves in an IDENTIFY.
    const usualMs = gateway.heartbeatMs;
    gateway.heartbeatMs = 300;
    gateway.acknowledges = false;
    gateway.askToReconnect();
    const closed = await world.fake.until(
      () => gateway.connections[1]?.closed ?? undefined,
      'the client to leave',
    );
    gateway.heartbeatMs = usualMs;
    gateway.acknowledges = true;
    assert.ok(gateway.connections[1]!.heartbeats.length > 0);
    assert.equal(closed.by, 'client');
    assert.notEqual(closed.code, 1_000);
    await resumed(world.fake, 2);
  });

  test('outlives a storm of connections that are closed at once', async () => {
    await using world = await stage();
    const { fake, channel, hears } = world;
    fake.gateway.plan({ kind: 'close', code: 4_000, when: 'hello' }, 2);
    fake.gateway.plan({ kind: 'refuse', status: 503 });
    fake.gateway.drop();
    fake.say(channel, 'after the storm');
    assert.deepEqual(await hears(1), ['after the storm']);
    assert.equal(fake.gateway.connections.length, 4, 'and one that was refused');
  });
});

suite('a login', { concurrency: true }, () => {
  test('is refused for a wrong token, and for an intent that is not switched on', async () => {
    await using fake = await startFakeDiscord({ allowedIntents: 0 });
    const stranger = clientOf(fake);
    await assert.rejects(stranger.login('wrong.token.here'), /invalid token/i);
    const bot = clientOf(fake);
    const refused = new Promise<Error>((resolve) => {
      bot.once(Events.Error, resolve);
      bot.once(Events.ShardError, resolve);
      bot.login(fake.token).catch(resolve);
    });
    assert.match(String(await refused), /disallowed intents/i);
    assert.deepEqual(fake.gateway.connections[0]?.closed, { code: 4_014, by: 'server' });
    await stranger.destroy();
    await bot.destroy();
  });

  test('without the intent for it is shown no text, but where the bot is meant', async () => {
    await using world = await stage({ allowedIntents: 0 }, [Guilds, GuildMessages]);
    const { fake, channel, heard, hears, ann } = world;
    fake.say(channel, 'among us');
    fake.say(channel, `<@${fake.bot.id}> hello`);
    fake.say(fake.direct(ann), 'not asked for');
    fake.say(channel, 'again');
    await hears(3);
    assert.deepEqual(heard, ['', `<@${fake.bot.id}> hello`, '']);
  });
});

suite('REST', { concurrency: true }, () => {
  test('refuses with the code of the platform', async () => {
    await using world = await stage();
    const { fake, client, channel, ann } = world;
    const there = await client.channels.fetch(channel.id);
    assert.ok(there?.isSendable());
    const codeOf = async (call: Promise<unknown>): Promise<unknown> => {
      const error: unknown = await call.catch((reason: unknown) => reason);
      assert.ok(error instanceof DiscordAPIError, String(error));
      return error.code;
    };
    assert.equal(await codeOf(client.channels.fetch('123')), 10_003);
    assert.equal(await codeOf(there.send('a'.repeat(2_001))), 50_035);
    assert.equal(await codeOf(there.send(' \n ')), 50_006);
    fake.refuse(channel, 'missingPermissions');
    assert.equal(await codeOf(there.send('x')), 50_013);
    fake.refuse(channel, 'missingAccess');
    assert.equal(await codeOf(there.send('x')), 50_001);
    fake.refuse(channel, null);
    const gone = { messageReference: '123', failIfNotExists: true };
    assert.equal(await codeOf(there.send({ content: 'x', reply: gone })), 50_035);
    const direct = fake.direct(ann);
    fake.refuse(direct, 'cannotSendToUser');
    const user = await client.users.fetch(ann.id);
    assert.equal(await codeOf(user.send('x')), 50_007);
    await there.send('a'.repeat(2_000));
    assert.equal(fake.sent.length, 1);
  });

  test('sends a message with an enforced nonce once', async () => {
    await using world = await stage();
    const { fake, client, channel } = world;
    const there = await client.channels.fetch(channel.id);
    assert.ok(there?.isSendable());
    const options = { content: 'once', nonce: '01k9', enforceNonce: true };
    const route = 'POST /channels/:id/messages';
    fake.fail(route, { kind: 'reset', done: true });
    await assert.rejects(there.send(options));
    const again = await there.send(options);
    assert.equal(fake.sent.length, 1);
    assert.equal(fake.sent[0]?.message.id, again.id);
    await there.send({ ...options, enforceNonce: false });
    assert.equal(fake.sent.length, 2);
  });

  test('shows what is behind a link, unless that is suppressed', async () => {
    await using world = await stage();
    const { client, channel } = world;
    const there = await client.channels.fetch(channel.id);
    assert.ok(there?.isSendable());
    const content = 'see https://a.test/x?y=1 and http://b.test';
    const open = await there.send(content);
    assert.deepEqual(
      open.embeds.map(({ url }) => url),
      ['https://a.test/x?y=1', 'http://b.test'],
    );
    const plain = await there.send({ content, flags: MessageFlags.SuppressEmbeds });
    assert.deepEqual(plain.embeds, []);
    assert.ok(plain.flags.has(MessageFlags.SuppressEmbeds));
    const crosspost = there.send({ content, flags: 1 as never });
    await assert.rejects(crosspost, (error) => error instanceof DiscordAPIError);
  });

  test('says what limits there are, and its 429 is waited out', async () => {
    await using world = await stage({ routeLimit: { requests: 2, windowMs: 300 } });
    const { fake, client, channel } = world;
    const there = await client.channels.fetch(channel.id);
    assert.ok(there?.isSendable());
    await Promise.all(['1', '2', '3', '4', '5'].map((text) => there.send(text)));
    assert.equal(fake.sent.length, 5);
    assert.ok(fake.sent[4]!.at - fake.sent[0]!.at >= 300, 'the client kept to the headers');
    const limit = { kind: 'rate-limit', retryAfterSeconds: 0.1 } as const;
    fake.fail('POST /channels/:id/messages', { ...limit, scope: 'global' });
    fake.fail('POST /channels/:id/messages', { ...limit, scope: 'shared' });
    await there.send('after both');
    assert.equal(fake.sent.length, 6);
  });

  test('notes typing and what may be mentioned', async () => {
    await using world = await stage();
    const { fake, client, channel, ann } = world;
    const there = await client.channels.fetch(channel.id);
    assert.ok(there?.isSendable());
    await there.sendTyping();
    assert.equal(fake.typing[0]?.channelId, channel.id);
    const question = fake.say(channel, 'a question', { author: ann });
    const reply = { messageReference: question.id, failIfNotExists: false };
    const quiet = await there.send({
      content: 'an answer',
      reply,
      allowedMentions: { parse: [], repliedUser: false },
    });
    assert.equal(quiet.mentions.users.size, 0);
    assert.deepEqual(fake.sent[0]?.body['allowed_mentions'], {
      parse: [],
      replied_user: false,
    });
    fake.remove(channel, question);
    const alone = await there.send({ content: 'an answer', reply });
    assert.equal(alone.reference, null);
  });
});
