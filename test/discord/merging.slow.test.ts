/** Several files and bursts of messages on a fake Discord: each makes one message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startServe } from '../support/in-process.ts';
import { snowflakeAt } from '../../src/channels/discord/wire.ts';
import { scratch, webhookConfig, writeConfig } from '../support/program.ts';

/** All parts come within it, however slow the machine; a command after them ends it. */
const longMs = 10_000;

async function stage(gather_ms: number) {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const discord = own.use(await startFakeDiscord({ identifyGapMs: 0 }));
  const model = own.use(await startFakeOllama((call) => ({ answer: lastOf(call).content })));
  const nowhere = { port: 0, adminPort: 0, receiverUrl: 'http://127.0.0.1:9' };
  const { brains, observability } = webhookConfig({ ...nowhere, modelUrl: model.url });
  const channel = { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN', gather_ms };
  const shows = { streaming: false };
  const file = await writeConfig(folder, {
    channels: [{ ...channel, ...shows, base_url: discord.url }],
    brains,
    routes: [{ channel: 'discord', brain: 'echo' }],
    observability,
    storage: { path: 'svc.db' },
  });
  const program = own.use(startServe(file, { DISCORD_TOKEN: discord.token }));
  await program.saw('messenger_b is up');
  return { discord, model, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

test('what is said in a burst is one question; a reply is said to what it replies to', async () => {
  await using it = await stage(longMs);
  const { discord } = it;
  const general = discord.textChannel(discord.guild('House'), 'general');
  const author = discord.user('Ann');
  const say = (text: string, fields = {}) =>
    discord.say(general, `<@${discord.bot.id}> ${text}`, { author, fields });
  say('one');
  const last = say('two');
  say('/help');
  const [first] = await discord.waitForSent(1);
  assert.equal(first!.message.content, 'Ann: one\ntwo');
  const { message_id: answered } = first!.message.message_reference as { message_id?: string };
  assert.equal(answered, last.id);
  say('three');
  say('four', { type: 19, referenced_message: first!.message });
  const sent = await discord.waitForSent(4);
  assert.match(sent[2]!.message.content, /^Ann: three$/);
  assert.match(sent[3]!.message.content, /^Ann: four\n/);
});

test('what was said apart, by the times that the ids tell, are two questions', async () => {
  await using it = await stage(1_500);
  const { discord } = it;
  const chat = discord.direct(discord.user('Ann'));
  const now = Date.now();
  const idOf = (msAgo: number) => snowflakeAt(now - msAgo);
  discord.say(chat, 'one', { fields: { id: idOf(600_000) } });
  discord.say(chat, 'two', { fields: { id: idOf(1_400) } });
  discord.say(chat, 'three', { fields: { id: idOf(0) } });
  const sent = await discord.waitForSent(2);
  assert.deepEqual(
    sent.map(({ message }) => message.content),
    ['one', 'two\nthree'],
  );
});

test('several files at once are one message without gather_ms, too', async () => {
  await using it = await stage(0);
  const { discord } = it;
  const attachments = ['1', '2'].map((id) => {
    const url = `http://127.0.0.1:9/attachments/${id}.zip`;
    return { id, filename: `${id}.zip`, content_type: 'application/zip', size: 3, url };
  });
  const chat = discord.direct(discord.user('Ann'));
  discord.say(chat, 'look', { fields: { attachments } });
  discord.say(chat, 'the next');
  const sent = await discord.waitForSent(2);
  assert.match(sent[0]!.message.content, /look[\s\S]*1\.zip[\s\S]*2\.zip/);
  assert.equal(sent[1]!.message.content, 'the next');
});
