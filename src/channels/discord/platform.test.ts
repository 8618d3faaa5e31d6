/** The channel against a fake Discord that was written from the platform's documentation alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../lib/clock.ts';
import type { Channel } from '../channel.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { ChannelState } from '../../domain/event.ts';
import type { Inbound } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { Stopper } from '../../lib/stop.ts';
import { testChannel, type ChannelBench } from '../../../test/contract/channel.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { NotingLedger } from '../../../test/fake/discord-bench.ts';
import {
  startFakeDiscord,
  type DiscordOptions,
  type FakeDiscord,
} from '../../../test/fake/discord.ts';
import { noteEvents } from '../../../test/fake/webhook.ts';
import { createDiscordChannel } from './discord.ts';
import { patienceMs, until } from '../../../test/support/waiting.ts';

const never = new Stopper();
const first = { number: 1, possibleDuplicate: false, late: false };

type Stage = AsyncDisposable & {
  readonly fake: FakeDiscord;
  readonly ledger: NotingLedger;
  readonly channel: Channel;
  /** Makes another channel; a base URL gives it another platform. */
  make(baseUrl?: string): Channel;
  /** Ends the run of the channel and begins another one, as a restart does. */
  restart(): Promise<void>;
  run(): Promise<void>;
  answer(message: Inbound, text: string): ReturnType<Channel['deliver']>;
};

async function startStage(options: DiscordOptions = {}): Promise<Stage> {
  const fake = await startFakeDiscord({ identifyGapMs: 0, ...options });
  const http = createHttpClient(createDeadlines(), { connectMs: patienceMs });
  const ledger = new NotingLedger();
  const make = (baseUrl = fake.url): Channel =>
    createDiscordChannel({
      config: {
        name: 'messenger_b',
        type: 'messenger_b',
        tokenEnv: 'DISCORD_TOKEN' as EnvName,
        baseUrl,
        access: null,
        streaming: true,
        gatherMs: 0,
        edits: false,
        speech: null,
      },
      token: 'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs',
      http,
      deadlines: createDeadlines(),
      events: noteEvents().events,
      ...systemClock,
      random: Math.random,
      limits: { pauseMs: 20, pauseMsMax: 50, spacingMs: 0 },
    });
  let channel = make();
  let stop = async (): Promise<void> => {};
  let replies = 0;
  const stage: Stage = {
    fake,
    ledger,
    make,
    get channel() {
      return channel;
    },
    async run() {
      await channel.open();
      const ending = new AbortController();
      const running = channel.run(ledger.receive, ending.signal);
      stop = async () => {
        ending.abort();
        await running;
        await channel[Symbol.asyncDispose]();
      };
    },
    async restart() {
      await stop();
      channel = make();
      await stage.run();
    },
    answer: ({ address }, text) => {
      const reply = { id: `01kz8c4h9e2q7x5t0m${++replies + 1000}`, address, text };
      return channel.deliver(reply as unknown as Reply, first, never);
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await channel[Symbol.asyncDispose]();
      await http.close();
      await fake[Symbol.asyncDispose]();
    },
  };
  return stage;
}

async function heard(stage: Stage, count: number): Promise<readonly Inbound[]> {
  await until(`${count} messages`, () => stage.ledger.messages.length >= count);
  return stage.ledger.messages;
}

const sessionKept = (stage: Stage): Promise<void> =>
  until('a session that is kept', () => stage.ledger.cursors.has('session'));
const stands = (stage: Stage, state: ChannelState): Promise<void> =>
  until(state, () => stage.channel.health().state === state);

testChannel('discord, the platform', async (): Promise<ChannelBench> => {
  const stage = await startStage();
  const target = stage.fake.direct(stage.fake.user('Ada')).id;
  const address = { channel: 'messenger_b', target };
  return {
    channel: stage.channel,
    hopeless: null,
    reply: { id: '01kz8c4h9e2q7x5t0m3vbn', address, text: 'hi' } as unknown as Reply,
    shown: () => {
      const { content, message } = stage.fake.sent.at(-1)!;
      const rows = message['components'] as { components: { custom_id: string }[] }[];
      const presses = rows.flatMap(({ components }) => components.map((one) => one.custom_id));
      return { text: content, presses };
    },
    hasButtons: true,
    cutOff: stage.make(`http://127.0.0.1:${closedPort}/api`),
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  };
});

test('a press comes in where its question stands, once, and is answered there', async () => {
  await using stage = await startStage();
  const { fake, channel } = stage;
  const ada = fake.user('Ada');
  const bo = fake.user('Bo');
  const thread = fake.thread(fake.textChannel(fake.guild('Home'), 'general'), 'plans');
  await stage.run();
  await sessionKept(stage);
  const direct = await channel.direct!(ada.id, new AbortController().signal);
  assert.equal(direct?.conversation, fake.direct(ada).id);
  const choices = ['approve', 'refuse'].map((word) => {
    return { label: word, says: `/${word} 4XK2M9TQ0Z` };
  });
  const place = { channel: direct.address.channel, target: thread.id };
  for (const [index, address] of [direct.address, place].entries()) {
    const reply = { id: `01kz8c4h9e2q7x5t0m3v${index}`, address, text: 'May I?', choices };
    await channel.deliver(reply as unknown as Reply, first, never);
  }
  const [asked, askedThere] = fake.sent.map(({ message }) => message);
  const pressed = fake.press(ada, asked!, 'approve');
  const [press] = await heard(stage, 1);
  const says = [press?.text, press?.conversation, press?.setting, press?.sender.id];
  assert.deepEqual(says, [choices[0]!.says, direct.conversation, 'direct', ada.id]);
  assert.deepEqual(press?.address, direct.address);
  await until('an answer', () => pressed.answer !== null);
  assert.deepEqual(fake.shown(asked!)?.['components'], [], 'its buttons are gone');
  const there = fake.press(bo, askedThere!, 'refuse');
  const [, second] = await heard(stage, 2);
  const saysThere = [second?.text, second?.conversation, second?.setting, second?.sender.id];
  assert.deepEqual(saysThere, [choices[1]!.says, thread.id, 'addressed', bo.id]);
  await until('an answer there', () => there.answer !== null);
  const rows = fake.shown(askedThere!)?.['components'] as unknown[];
  assert.equal(rows.length, 1, 'others may still press');
});

test('direct chats, mentions and threads come in, and answers go where they belong', async () => {
  await using stage = await startStage();
  const { fake, ledger } = stage;
  const ada = fake.user('Ada');
  const general = fake.textChannel(fake.guild('Home'), 'general');
  const thread = fake.thread(general, 'plans');
  await stage.run();
  await sessionKept(stage);
  const us = `<@${fake.bot.id}>`;
  fake.say(fake.direct(ada), 'just us');
  fake.say(general, 'not to you', { author: ada });
  fake.say(general, '@everyone lunch', { author: ada });
  fake.say(general, `${us} hello`, { author: ada });
  fake.say(thread, `in here, ${us}`, { author: ada });
  const messages = await heard(stage, 3);
  const texts = messages.map(({ text, setting }) => [setting, text]);
  assert.deepEqual(texts, [
    ['direct', 'just us'],
    ['addressed', 'hello'],
    ['addressed', 'in here,'],
  ]);
  assert.equal(new Set(messages.map(({ conversation }) => conversation)).size, 3);
  for (const message of messages) {
    assert.deepEqual(await stage.answer(message, 'hi @everyone'), { kind: 'delivered' });
  }
  const places = fake.sent.map(({ message }) => message.channel_id);
  assert.deepEqual(places, [fake.direct(ada).id, general.id, thread.id]);
  assert.equal(ledger.texts.length, 3, 'our own messages are no messages');
});

// grammar-nazi-bot#244, hermes-agent#1293: Discord refuses the reference, and the answer was lost.
test('where no message can be referred to, the answer comes without a reference', async () => {
  await using stage = await startStage();
  const { fake } = stage;
  const general = fake.textChannel(fake.guild('Home'), 'general');
  const thread = fake.thread(general, 'plans');
  await stage.run();
  await sessionKept(stage);
  fake.hideHistory(general);
  const us = `<@${fake.bot.id}>`;
  fake.say(general, `${us} hello`, { author: fake.user('Ada') });
  const question = fake.say(thread, `${us} hello`, { author: fake.user('Bo') });
  const messages = await heard(stage, 2);
  fake.makeSystem(question);
  for (const message of messages) {
    assert.deepEqual(await stage.answer(message, 'hi'), { kind: 'delivered' });
  }
  const shown = fake.sent.map(({ message, body }) => [
    message.channel_id,
    'message_reference' in body,
  ]);
  assert.deepEqual(shown, [
    [general.id, false],
    [thread.id, false],
  ]);
});

test('a link in an answer is shown as text: the platform fetches nothing for it', async () => {
  await using stage = await startStage();
  const { fake } = stage;
  await stage.run();
  await sessionKept(stage);
  fake.say(fake.direct(fake.user('Ada')), 'where?');
  const [message] = await heard(stage, 1);
  await stage.answer(message!, 'at https://thief.example/?said=what+was+read');
  assert.deepEqual(fake.sent.at(-1)!.message['embeds'], []);
});

test('a restart resumes, and what was said meanwhile is there once', async () => {
  await using stage = await startStage();
  const { fake, ledger } = stage;
  const direct = fake.direct(fake.user('Ada'));
  await stage.run();
  await sessionKept(stage);
  for (let round = 1; round <= 4; round++) {
    fake.say(direct, `before ${round}`);
    await heard(stage, round * 2 - 1);
    const restarting = stage.restart();
    fake.say(direct, `meanwhile ${round}`);
    await restarting;
    await heard(stage, round * 2);
  }
  const expected = [1, 2, 3, 4].flatMap((round) => [`before ${round}`, `meanwhile ${round}`]);
  assert.deepEqual(ledger.texts, expected);
  const { connections } = fake.gateway;
  assert.equal(connections.filter(({ identify }) => identify !== null).length, 1);
  assert.ok(connections.slice(0, -1).every(({ closed }) => closed?.code === 4200));
});

test('every way in which the gateway ends a connection loses nothing', async () => {
  await using stage = await startStage({ heartbeatMs: 2_000 });
  const { fake, ledger } = stage;
  const direct = fake.direct(fake.user('Ada'));
  await stage.run();
  await sessionKept(stage);
  const ends = [
    () => fake.gateway.closeAll(4000),
    () => fake.gateway.closeAll(4009),
    () => fake.gateway.closeAll(1001),
    () => fake.gateway.drop(),
    () => fake.gateway.askToReconnect(),
    () => fake.gateway.invalidate(true),
    () => fake.gateway.invalidate(false),
    () => fake.gateway.forgetSessions(),
  ];
  const said: string[] = [];
  const describeOne = (text: string): void => {
    said.push(text);
    fake.say(direct, text);
  };
  for (const [index, end] of ends.entries()) {
    describeOne(`before ${index}`);
    await heard(stage, said.length);
    end();
    if (index === ends.length - 1) fake.gateway.closeAll(4000);
    describeOne(`meanwhile ${index}`);
    await heard(stage, said.length);
    await stands(stage, 'up');
  }
  assert.deepEqual(ledger.texts, said);
});

test('the switch in the portal is off: it says which one', async () => {
  await using stage = await startStage({ allowedIntents: 0 });
  await stage.run();
  await stands(stage, 'failed');
  assert.match(stage.channel.health().reason ?? '', /MESSAGE CONTENT INTENT/);
});

test('a long answer keeps to the limit, and a second try makes no second message', async () => {
  await using stage = await startStage();
  const { fake, channel } = stage;
  await channel.open();
  const target = fake.direct(fake.user('Ada')).id;
  const parts = channel.split!(`${'many words '.repeat(600)}end`);
  for (const [index, { text }] of parts.entries()) {
    const id = `01kz8c4h9e2q7x5t0m3vbn-0${index}`;
    const reply = { id, address: { channel: 'messenger_b', target }, text } as unknown as Reply;
    fake.fail('POST /channels/:id/messages', { kind: 'reset', done: true });
    const lost = await channel.deliver(reply, first, never);
    assert.ok(lost.kind === 'retry');
    assert.deepEqual(await channel.deliver(reply, first, never), { kind: 'delivered' });
  }
  assert.ok(parts.length > 3);
  assert.deepEqual(
    fake.sent.map(({ message }) => message.content),
    parts.map(({ text }) => text),
  );
});
