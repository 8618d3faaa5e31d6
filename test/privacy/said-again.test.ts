/** A repeated text keeps the sensitivity label of its first time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { adminToken, askAdmin } from '../config/program.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch, writeConfig } from '../support/program.ts';

const durable = { storage: { path: 'svc.db' }, session: {} };
const secret = 'the safe opens with 4711';

/** A service on a messenger with a private brain, which may become a public one elsewhere. */
async function stage(channel: object, env: Record<string, string>, more: object = durable) {
  await using parts = new AsyncDisposableStack();
  const { path: folder } = parts.use(await scratch());
  const local = parts.use(await startFakeOllama((call) => ({ answer: lastOf(call).content })));
  const cloud = parts.use(await startFakeOpenai({ answer: 'from elsewhere' }));
  const port = await freePort();
  const brain = (sensitivity: string, model: object) => ({
    brains: [{ name: 'echo', sensitivity, policy: { kind: 'priority' }, models: [model] }],
  });
  const here = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  const away = { provider: 'hosted_runtime', model_id: 'gpt-test', locality: 'cloud' };
  const isPrivate = brain('private', { ...here, base_url: local.url });
  const key = { base_url: cloud.url, api_key_env: 'CLOUD_KEY' };
  const isPublic = brain('public', { ...away, ...key });
  const rest = {
    channels: [{ streaming: false, edits: true, ...channel }],
    routes: [{ channel: (channel as { type: string }).type, brain: 'echo' }],
    observability: { addr: `127.0.0.1:${port}` },
    admin: { token_env: 'ADMIN_TOKEN' },
    ...more,
  };
  const file = await writeConfig(folder, { ...rest, ...isPrivate });
  const all = { ADMIN_TOKEN: adminToken, CLOUD_KEY: 'a-key-of-the-tests', ...env };
  const own = parts.move();
  const become = async (sensitivity: 'public' | 'private'): Promise<void> => {
    const ifMatch = (await askAdmin(port, 'config')).etag!;
    const brains = sensitivity === 'public' ? isPublic : isPrivate;
    const body = JSON.stringify({ ...rest, ...brains });
    const told = await askAdmin(port, 'config', { method: 'PUT', body, ifMatch });
    assert.equal(told.status, 200, JSON.stringify(told.body));
  };
  return {
    cloud,
    become,
    start: () => startServe(file, all),
    sentAway: () => cloud.calls.map(({ text }) => text).join('\n'),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

async function onTelegram(more?: object) {
  await using parts = new AsyncDisposableStack();
  const telegram = parts.use(await startFakeTelegram({ secondMs: 20 }));
  const channel = { type: 'telegram', mode: 'polling', token_env: 'TELEGRAM_TOKEN' };
  const where = { ...channel, base_url: telegram.url };
  const it = parts.use(await stage(where, { TELEGRAM_TOKEN: telegram.token }, more));
  const ann = telegram.privateChat(telegram.person('Ann'));
  const own = parts.move();
  return { ...it, telegram, ann, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

for (const more of [durable, {}]) {
  const form = 'storage' in more ? 'storage' : 'memory';
  test(`${form}: Telegram: the edit of a private message stays with models here`, async () => {
    await using it = await onTelegram(more);
    const { telegram, ann, cloud } = it;
    await using program = it.start();
    const said = telegram.say(ann, secret);
    await telegram.waitForSent(1);
    await it.become('public');
    telegram.edit(ann, said.message_id, `${secret}, not 0815`);
    const isAsked = () => cloud.calls.length > 0 || telegram.sent.length > 1 || undefined;
    await telegram.until(isAsked, 'the edit is asked');
    assert.equal(it.sentAway(), '');
    telegram.say(ann, 'hello');
    const sent = await telegram.waitForSent(3);
    assert.match(sent[1]!.text ?? '', /^Sorry, I have no answer/);
    assert.equal(sent[2]!.text, 'from elsewhere');
    assert.doesNotMatch(it.sentAway(), /4711|0815/);
    assert.equal(cloud.calls.length, 1);
    await program.saw('is up');
  });
}

test('Telegram: the edit of a message that was public is answered elsewhere', async () => {
  await using it = await onTelegram();
  const { telegram, ann, cloud } = it;
  await using program = it.start();
  await program.saw('is up');
  await it.become('public');
  const said = telegram.say(ann, 'two and two');
  const [sent] = await telegram.waitForSent(1);
  telegram.edit(ann, said.message_id, 'three and three');
  await telegram.until(() => cloud.calls.length === 2 || undefined, 'the edit is asked');
  assert.match(cloud.calls[1]!.text, /three and three/);
  assert.equal(telegram.shown(sent!.message)?.text, 'from elsewhere');
});

test('Discord: the edit of a private message stays with models here', async () => {
  await using parts = new AsyncDisposableStack();
  const discord = parts.use(await startFakeDiscord({ identifyGapMs: 0 }));
  const channel = { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN' };
  const where = { ...channel, base_url: discord.url };
  const it = parts.use(await stage(where, { DISCORD_TOKEN: discord.token }));
  const program = parts.use(it.start());
  await program.saw('messenger_b is up');
  const chat = discord.direct(discord.user('Ann'));
  const said = discord.say(chat, secret);
  await discord.waitForSent(1);
  await it.become('public');
  discord.edit(chat, said, `${secret}, not 0815`);
  const isAsked = () => it.cloud.calls.length > 0 || discord.sent.length > 1 || undefined;
  await discord.until(isAsked, 'the edit is asked');
  assert.equal(it.sentAway(), '');
  discord.say(chat, 'hello');
  const sent = await discord.waitForSent(3);
  assert.equal(sent[2]!.message.content, 'from elsewhere');
  assert.doesNotMatch(it.sentAway(), /4711|0815/);
});

for (const more of [durable, {}]) {
  const form = 'storage' in more ? 'storage' : 'memory';
  test(`${form}: what is forwarded of a private conversation stays with models here`, async () => {
    await using it = await onTelegram(more);
    const { telegram, ann, cloud } = it;
    await using program = it.start();
    telegram.say(ann, secret);
    const [answer] = await telegram.waitForSent(1);
    await it.become('public');
    const forward_origin = { type: 'user', date: 1, sender_user: { id: 77, first_name: 'svc' } };
    telegram.post(ann, { text: answer!.text, forward_origin });
    assert.match((await telegram.waitForSent(2))[1]!.text ?? '', /^Sorry, I have no answer/);
    assert.equal(it.sentAway(), '');
    if (more !== durable) return;
    telegram.post(ann, { text: 'a text of the news', forward_origin });
    assert.equal((await telegram.waitForSent(3))[2]!.text, 'from elsewhere');
    telegram.say(ann, 'hello');
    assert.equal((await telegram.waitForSent(4))[3]!.text, 'from elsewhere');
    assert.doesNotMatch(it.sentAway(), /4711/);
    assert.equal(cloud.calls.length, 2);
    await program.saw('is up');
  });
}
