/** The channel as its callers see it, and the faults around it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../../domain/reply.ts';
import { testChannel, type ChannelBench } from '../../../test/contract/channel.ts';
import { failImportOnce } from '../../../test/support/failing-import.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { startDiscordBench } from '../../../test/fake/discord-bench.ts';
import { botId, botToken } from '../../../test/fake/scripted-discord.ts';
import { Stopper } from '../../lib/stop.ts';

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

test('a library that could not be loaded is tried again, and nothing else suffers', async () => {
  await using bench = await startDiscordBench();
  const { signal } = new AbortController();
  using _failing = failImportOnce('@discordjs/rest');
  const channel = bench.make();
  await assert.rejects(channel.open(), /EMFILE/);
  await channel[Symbol.asyncDispose]();
  using _failingAgain = failImportOnce('@discordjs/rest');
  channel.showWorking!(reply.address, signal);
  await new Promise(setImmediate);
  await assert.rejects(channel.open(), /EMFILE/);
  assert.equal((await channel.open()).kind, 'opened');
  channel.showWorking!(reply.address, signal);
  await bench.discord.until(() => bench.discord.postsTo('/typing').length === 1);
  await channel[Symbol.asyncDispose]();
});

test('typing is shown until the reply is on its way, and may fail', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make();
  await channel.open();
  const { signal } = new AbortController();
  channel.showWorking!(reply.address, signal);
  channel.showWorking!(reply.address, signal);
  await bench.discord.until(() => bench.discord.postsTo('/typing').length === 1);
  await channel.deliver(reply, { number: 1, possibleDuplicate: false, late: false }, neverStopped);
  assert.equal(bench.discord.postsTo('/typing').length, 1);
  await bench.discord[Symbol.asyncDispose]();
  channel.showWorking!({ ...reply.address, target: 'nonsense' }, signal);
  channel.showWorking!(reply.address, signal);
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
