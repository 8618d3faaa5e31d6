/** The channel as others see it, and what may go wrong around it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow, handClock } from '../../../test/hand-clock.ts';
import type { Reply } from '../../domain/reply.ts';
import { testChannel, type ChannelBench } from '../../../test/contract/channel.ts';
import { failImportOnce } from '../../../test/failing-import.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { said, startDiscordBench } from '../../../test/fake/discord-bench.ts';
import { botId, botToken } from '../../../test/fake/scripted-discord.ts';
import { Stopper } from '../../lib/stop.ts';
import { connectionLimits } from './connection.ts';
import { Pulse } from './pulse.ts';

const reply = {
  id: '01kz8c4h9e2q7x5t0m3vbn',
  address: { channel: `messenger_b:${botId}`, target: '319674150115610528' },
  text: 'hi',
} as unknown as Reply;

async function startBench(): Promise<ChannelBench> {
  const bench = await startDiscordBench();
  const channel = bench.make();
  return {
    channel,
    // No fault of a messenger ends the boot.
    hopeless: null,
    reply,
    shown: () => {
      const { body } = bench.discord.postsTo('/messages').at(-1)!;
      const rows = (body['components'] ?? []) as { components: { custom_id: string }[] }[];
      const presses = rows.flatMap(({ components }) => components.map((one) => one.custom_id));
      return { text: String(body['content']), presses };
    },
    hasButtons: true,
    cutOff: bench.make({ baseUrl: `http://127.0.0.1:${closedPort}` }),
    async [Symbol.asyncDispose]() {
      await channel[Symbol.asyncDispose]();
      await bench[Symbol.asyncDispose]();
    },
  };
}

testChannel('discord', startBench);

test('it opens under the id of its bot, without asking anybody', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make();
  assert.deepEqual(await channel.open(), { kind: 'opened', key: `messenger_b:${botId}` });
  assert.equal(bench.discord.calls.length, 0);
});

test('what is no bot token is named by its variable, and only this channel is unfit', async () => {
  await using bench = await startDiscordBench();
  const token = 'not-a-token-but-secret-all-the-same';
  await using channel = bench.make({ token });
  const opened = await channel.open();
  assert.ok(opened.kind === 'unfit');
  assert.match(opened.message, /the value of DISCORD_TOKEN is no bot token/);
  assert.equal(channel.health().state, 'failed');
  assert.doesNotMatch(JSON.stringify([opened, channel.health(), bench.calls]), /not-a-token/);
});

test('the direct chat of a person is asked for, and none where there is none', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make();
  const { signal } = new AbortController();
  bench.discord.directAnswers.push({ status: 200, body: { id: '319674150115610528', type: 1 } });
  const address = { channel: `messenger_b:${botId}`, target: '319674150115610528' };
  const conversation = '319674150115610528';
  const direct = await channel.direct?.('80351110224678912', signal);
  assert.deepEqual(direct, { conversation, address });
  const [asked] = bench.discord.postsTo('/users/@me/channels');
  assert.deepEqual(asked?.body, { recipient_id: '80351110224678912' });
  bench.discord.directAnswers.push({ status: 400, body: { code: 50_007 } });
  assert.equal(await channel.direct?.('80351110224678912', signal), null);
  assert.equal(await channel.direct?.('../1', signal), null);
  assert.equal(await channel.direct?.('80351110224678912', AbortSignal.abort()), null);
});

test('it says whose token it is, or why it cannot', async () => {
  await using bench = await startDiscordBench();
  const { signal } = new AbortController();
  const ask = async (token = botToken) => {
    await using channel = bench.make({ token });
    return channel.identify!(signal);
  };
  assert.deepEqual(await ask(), { kind: 'known', id: botId, name: 'helper' });
  assert.equal((await ask('nonsense')).kind, 'refused');
  bench.discord.selfAnswers.push({ status: 401, body: {} }, { status: 500, body: {} });
  const refused = await ask();
  assert.ok(refused.kind === 'refused' && refused.message.startsWith('the token in DISCORD_TOKEN'));
  assert.equal((await ask()).kind, 'unreached');
});

test('a new configuration keeps the connection unless token or setting is another', async () => {
  await using bench = await startDiscordBench();
  const access = { allow: ['1'], groups: 'mention', pairing: false } as const;
  const channel = bench.make();
  assert.equal(bench.make().sameAs!(channel), true);
  assert.equal(bench.make({ access }).sameAs!(channel), true);
  assert.equal(bench.make({ access: { ...access, groups: 'all' } }).sameAs!(channel), false);
  assert.equal(bench.make({ token: `${botToken}x` }).sameAs!(channel), false);
  for (const manners of [{ streaming: false }, { gatherMs: 1 }, { edits: true }]) {
    assert.equal(bench.make({ manners }).sameAs!(channel), false);
  }
});

test('a platform that cannot be reached at the start is tried until it can', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.gatewayAnswers.push({ status: 502 }, { status: 429, headers: { 'retry-after': '0' } });
  discord.unreachable = true;
  const { channel } = await bench.run();
  await discord.until(() => discord.refusedSockets > 1);
  assert.equal(channel.health().state, 'degraded');
  discord.unreachable = false;
  await discord.until(() => channel.health().state === 'up');
});

test('a gateway that says nothing is given up, and another connection is made', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.greets = false;
  let skippedMs = 0;
  const limits = { connectMs: 30_000 };
  const { channel } = await bench.run({ limits, steady: () => fromNow(skippedMs) });
  await discord.until(() => discord.connections === 1);
  skippedMs = 31_000;
  await discord.until(() => /not ready within/.test(channel.health().reason ?? ''));
  discord.greets = true;
  await discord.until(() => channel.health().state === 'up');
});

test('a silent connection is given up: health is the last answer, not a flag', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  const { channel } = await bench.run({ limits: { silentMs: 100 } });
  await discord.until(() => /no heartbeat was answered/.test(channel.health().reason ?? ''));
  await discord.until(() => discord.framesOf(6).length > 0);
});

test('silence on an open connection is told before a heartbeat is due, and its end', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  const { channel } = await bench.run({ limits: { quietMs: 150 } });
  await discord.until(() => discord.pings > 1 && channel.health().state === 'up');
  discord.holdAll();
  await discord.until(() => channel.health().state === 'degraded');
  const { reason, since } = channel.health();
  assert.equal(reason, 'its gateway is silent: check the network');
  assert.ok(since <= Date.now() - 150, 'it began when the last of it came');
  discord.goOn();
  await discord.until(() => channel.health().state === 'up');
  assert.deepEqual(discord.closeCodes, [], 'it is the same connection');
});

test('a gateway that answers no ping is judged by its heartbeats alone', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.pongs = false;
  const { channel } = await bench.run({ limits: { quietMs: 50 } });
  await discord.until(() => discord.pings > 10);
  assert.equal(channel.health().state, 'up');
});

test('within 15 seconds of the last that came, silence is told', () => {
  const clock = handClock(1_000_000);
  const told: (number | null)[] = [];
  const pulse = new Pulse(clock.steady, connectionLimits, (ms) => told.push(ms));
  let pong = (): void => {};
  let answers = true;
  const socket = {
    readyState: 1,
    on: (_event: 'pong', heard: () => void) => (pong = heard),
    ping: () => void (answers && pong()),
  };
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += connectionLimits.tickMs) {
      clock.pass(connectionLimits.tickMs);
      pulse.beat(socket);
    }
  };
  pass(60_000);
  assert.deepEqual(told, []);
  answers = false;
  clock.pass(4_999);
  pulse.heard();
  clock.pass(1);
  pulse.beat(socket);
  pass(10_000);
  assert.deepEqual(told, [10_001]);
  pulse.heard();
  assert.deepEqual(told, [10_001, null]);
  answers = true;
  pass(10_000);
  // The process stood still, and what came meanwhile is not read yet.
  answers = false;
  clock.pass(60_000);
  pulse.beat(socket);
  assert.deepEqual(told, [10_001, null]);
});

test('a process that stood still makes its connection anew', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  let skippedMs = 0;
  const { channel } = await bench.run({ now: () => Date.now() + skippedMs });
  await discord.until(() => channel.health().state === 'up');
  skippedMs = 120_000;
  await discord.until(() => discord.framesOf(6).length === 1 && channel.health().state === 'up');
  assert.deepEqual(discord.closeCodes, [4200]);
});

test('frames of any shape end at most the connection, never the process', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  const { channel } = await bench.run();
  const stands = (): Promise<void> =>
    discord.until(() => channel.health().state === 'up' && discord.sockets.length === 1);
  const ending = [{ op: 10, d: null }, { op: 9 }, { op: 0, t: 'READY', s: 1, d: null }];
  for (const [ended, frame] of ending.entries()) {
    await stands();
    discord.send(frame);
    await discord.until(() => discord.closeCodes.length > ended);
  }
  await stands();
  const harmless = [{ op: 0, t: 'MESSAGE_CREATE', s: 2, d: null }, { op: 99 }, [], 'text', 7];
  for (const frame of harmless) discord.send(frame);
  discord.sendText('{not json');
  // It is asked to beat its heart, so that it is seen to have come as far as that.
  discord.send({ op: 1, d: null });
  const beaten = discord.framesOf(1).length;
  await discord.until(() => discord.framesOf(1).length > beaten);
  assert.equal(discord.closeCodes.length, ending.length);
  discord.dispatch('MESSAGE_CREATE', said('still here'));
  await discord.until(() => ledger.texts.length === 1);
});

test('it stops at once while a connection is being made', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.hangs = true;
  const { channel, stop } = await bench.run();
  await discord.until(() => discord.refusedSockets === 1);
  await stop();
  assert.equal(channel.health().state, 'stopped');
});

test('a library that could not be loaded is tried again, and nothing else suffers', async () => {
  await using bench = await startDiscordBench();
  const { signal } = new AbortController();
  using _failing = failImportOnce('@discordjs/rest');
  const channel = bench.make();
  await assert.rejects(channel.open(), /EMFILE/);
  await channel[Symbol.asyncDispose]();
  using _failingAgain = failImportOnce('@discordjs/rest');
  channel.working!(reply.address, signal);
  await new Promise(setImmediate);
  await assert.rejects(channel.open(), /EMFILE/);
  assert.equal((await channel.open()).kind, 'opened');
  channel.working!(reply.address, signal);
  await bench.discord.until(() => bench.discord.postsTo('/typing').length === 1);
  await channel[Symbol.asyncDispose]();
});

test('typing is shown until the reply is on its way, and may fail', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make();
  await channel.open();
  const { signal } = new AbortController();
  channel.working!(reply.address, signal);
  channel.working!(reply.address, signal);
  await bench.discord.until(() => bench.discord.postsTo('/typing').length === 1);
  await channel.deliver(reply, { number: 1, possibleDuplicate: false, late: false }, neverStopped);
  assert.equal(bench.discord.postsTo('/typing').length, 1);
  await bench.discord[Symbol.asyncDispose]();
  channel.working!({ ...reply.address, target: 'nonsense' }, signal);
  channel.working!(reply.address, signal);
});

test('a long reply is cut into parts of 2,000, and code blocks go on in the next', async () => {
  await using bench = await startDiscordBench();
  const text = `Here:\n\`\`\`js\n${'const a = 1;\n'.repeat(110)}\`\`\`\n`;
  const parts = bench.make().split!(text.repeat(3)).map((part) => part.text);
  assert.ok(parts.length > 2 && parts.every((part) => part.length <= 2_000));
  assert.ok(parts.every((part) => part.split('```').length % 2 === 1));
  assert.ok(parts.some((part) => part.startsWith('```js\n')));
});

test('the token is in nothing that is told', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.gatewayAnswers.push({ status: 500 });
  discord.welcomes.push(4000, 'invalid', 4004);
  const { channel } = await bench.run();
  await discord.until(() => channel.health().state === 'failed');
  await channel.deliver(reply, { number: 1, possibleDuplicate: false, late: false }, neverStopped);
  const told = JSON.stringify([bench.calls, channel.health()]);
  assert.ok(told.includes('DISCORD_TOKEN') && !told.includes(botToken.split('.')[2]!));
  assert.ok(discord.calls.every(({ path }) => !path.includes(botToken)));
});

const neverStopped = new Stopper();
