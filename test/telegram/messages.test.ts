/** The whole program on a fake Telegram: people's messages, and their answers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { refuse, type Message } from '../fake/telegram/wire.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, scratch, writeConfig } from '../support/program.ts';
import { durable, echo, openTelegram } from './program.ts';

/** A page of the admin server. */
const pageOf = async (it: { adminPort: number }, path: string): Promise<string> =>
  (await fetch(`http://127.0.0.1:${it.adminPort}${path}`)).text();

for (const [form, setup] of [
  ['memory', {}],
  ['storage', { more: durable }],
] as const) {
  test(`${form}: a person writes and is answered; a restart sends nothing twice`, async () => {
    await using it = await openTelegram(echo, setup);
    it.telegram.say(it.ann, 'said before it **started**');
    {
      await using program = it.start();
      await it.telegram.waitForSent(1);
      it.telegram.say(it.ann, 'hello');
      const sent = await it.telegram.waitForSent(2);
      assert.deepEqual(
        sent.map(({ text }) => text),
        ['said before it started', 'hello'],
      );
      assert.deepEqual(sent[0]?.message.entities, [{ type: 'bold', offset: 15, length: 7 }]);
      assert.equal(await program.stop(), 0, program.log());
      assert.ok(!program.log().includes(it.telegram.token.split(':')[1]!));
    }
    // The fake may read the program's last confirmation only after its end.
    await it.telegram.until(() => it.telegram.pending === 0 || undefined, 'all are confirmed');
    await using program = it.start();
    it.telegram.say(it.ann, 'again');
    const sent = await it.telegram.waitForSent(3);
    assert.equal(sent[2]?.text, 'again');
    await program.saw('is up');
  });
}

test('a press while it is away is taken after the start, and one of a stranger never', async () => {
  const bo = 600_000_001;
  const channel = { access: { allow: [String(bo)] } };
  await using it = await openTelegram(echo, { more: durable, channel });
  const { telegram } = it;
  const person = telegram.person('Bo', { id: bo });
  const stranger = telegram.person('Cy');
  const group = telegram.supergroup('Team');
  let message: Message;
  {
    await using program = it.start();
    await program.saw('is up');
    const more = { from: person };
    telegram.say(group, `@${telegram.bot.username} hello`, more);
    const [sent] = await telegram.waitForSent(1);
    message = sent!.message;
    assert.equal(await program.stop(), 0, program.log());
  }
  const buttons = [[{ text: 'Approve', callback_data: '/approve 4XK2M9TQ0Z' }]];
  const seen = { ...message, reply_markup: { inline_keyboard: buttons } };
  const strange = telegram.press(stranger, seen, 'Approve');
  const press = telegram.press(person, seen, 'Approve');
  await using program = it.start();
  const [, answer] = await telegram.waitForSent(2);
  assert.equal(answer?.chatId, group.id);
  assert.equal(answer?.message.reply_to_message?.message_id, message.message_id);
  await telegram.until(() => press.answer ?? undefined, 'an answer to the press');
  await telegram.until(() => telegram.pending === 0 || undefined, 'all are confirmed');
  assert.equal(strange.answer, null);
  assert.equal(telegram.sent.length, 2);
  assert.equal(await program.stop(), 0, program.log());
});

test('in a group it answers who speaks to it; a topic is a conversation', async () => {
  await using it = await openTelegram(echo, { more: durable });
  await using program = it.start();
  await program.saw('is up');
  const forum = it.telegram.forum('Team');
  const lunch = it.telegram.openTopic(forum, 'Lunch');
  const name = it.telegram.bot.username;
  it.telegram.say(forum, 'not for the bot');
  it.telegram.say(forum, `@${name} in general`);
  const asked = it.telegram.say(forum, `/new@${name}`, { topic: lunch });
  const sent = await it.telegram.waitForSent(2);
  const general = sent.find(({ message }) => message.is_topic_message !== true);
  const inTopic = sent.find(({ message }) => message.is_topic_message === true);
  assert.equal(general?.text, 'A stranger: in general');
  assert.equal(inTopic?.message.message_thread_id, lunch);
  assert.equal(inTopic?.message.reply_to_message?.message_id, asked.message_id);
  assert.match(inTopic?.text ?? '', /session/);
  assert.equal(it.model.calls.length, 1);
});

test('while it thinks it is "typing", and a long answer comes in parts', async () => {
  const thinking = Promise.withResolvers<void>();
  const long = 'word '.repeat(2_000);
  await using it = await openTelegram({ answer: long, after: thinking.promise });
  await using program = it.start();
  await program.saw('is up');
  it.telegram.say(it.ann, 'tell me all');
  await it.telegram.until(() => it.telegram.typing[0], 'typing');
  thinking.resolve();
  const sent = await it.telegram.waitForSent(3);
  assert.equal(sent.map(({ text }) => text).join(' '), long.trim());
});

test('a refused token stops this channel alone, and names the variable', async () => {
  await using it = await openTelegram(echo);
  it.telegram.revokeToken();
  await using program = it.start();
  await program.saw('refused the token in TELEGRAM_TOKEN');
  await program.saw('"listening"');
  const status = JSON.parse(await pageOf(it, '/api/v1/status')) as {
    status: string;
    channels: { state: string; reason: string }[];
  };
  assert.equal(status.status, 'ok');
  assert.equal(status.channels[0]?.state, 'failed');
  assert.match(status.channels[0]?.reason ?? '', /@BotFather/);
});

test('a value that is no token is told once', async () => {
  await using it = await openTelegram(echo);
  await using program = it.start({ TELEGRAM_TOKEN: '123456789' });
  await program.saw('TELEGRAM_TOKEN holds no bot token');
  await program.saw('"listening"');
  assert.equal(await program.stop(), 0);
  const lines = program.log().split('\n');
  assert.equal(lines.filter((line) => line.includes('holds no bot token')).length, 1);
});

test('what a person who blocked the bot was to get is a dead letter at once', async () => {
  await using it = await openTelegram(echo, { more: durable });
  await using program = it.start();
  await program.saw('is up');
  it.telegram.say(it.ann, 'hello');
  it.telegram.block(it.ann);
  await program.saw('dead_letter');
});

test('metrics tell when Telegram was last heard of, and what was confirmed early', async () => {
  await using it = await openTelegram(echo);
  await using program = it.start();
  await program.saw('is up');
  await program.saw('"listening"');
  const page = await pageOf(it, '/metrics');
  assert.match(page, /svc_channel_state\{channel="messenger_a",state="up"\} 1/);
  assert.match(page, /svc_messages_confirmed_early_total\{channel="messenger_a"\} 0/);
});

test('examples/telegram.json boots and answers, and only whom it lists', async () => {
  await using scene = await scratch();
  await using telegram = await startFakeTelegram({ secondMs: 20 });
  await using model = await startFakeOllama({ answer: 'four' });
  const path = join(import.meta.dirname, '../../examples', 'telegram.json');
  const example = JSON.parse(readFileSync(path, 'utf8')) as {
    channels: { base_url?: string }[];
    brains: { models: { base_url?: string }[] }[];
    observability?: object;
  };
  example.channels[0]!.base_url = telegram.url;
  example.brains[0]!.models[0]!.base_url = model.url;
  example.observability = { addr: `127.0.0.1:${await freePort()}` };
  await using program = startServe(await writeConfig(scene.path, example), {
    TELEGRAM_TOKEN: telegram.token,
  });
  await program.saw('is up');
  telegram.say(telegram.privateChat(telegram.person('Bo')), 'let me in');
  const ann = telegram.person('Ann', { id: 123_456_789 });
  telegram.say(telegram.privateChat(ann), 'What is two and two?');
  const [answer] = await telegram.waitForSent(1);
  assert.deepEqual([answer?.chatId, answer?.text], [ann.id, 'four']);
  assert.equal(model.calls.length, 1);
});

test('svc doctor tells where a webhook leads, and deletes it when asked to', async () => {
  await using it = await openTelegram(echo);
  const { telegram } = it;
  telegram.setWebhook('https://relay.example:8443/hook/s3cret-path?key=s3cret');
  telegram.say(it.ann, 'hello');
  const doctor = async (...flags: readonly string[]): Promise<string> => {
    const env = { TELEGRAM_TOKEN: telegram.token };
    const args = ['doctor', '--config', it.file, ...flags];
    const { code, out, err } = await runCommand(args, { env });
    return `${code} ${out}${err}`;
  };
  const told = await doctor();
  assert.match(told, /! messenger_a: another program set a webhook.* to relay\.example:8443/);
  assert.doesNotMatch(told, /s3cret/);
  assert.equal(telegram.callsOf('deleteWebhook').length, 0, 'it only looks');
  const away = refuse(500, 'Internal Server Error');
  for (const [method, failure] of [
    ['deleteWebhook', /^1 [^]*✗ messenger_a: its webhook, .* to relay\.example:8443, could not/],
    ['getWebhookInfo', /^1 [^]*✗ messenger_a: it could not be asked for a webhook/],
  ] as const) {
    telegram.fail(method, { kind: 'refuse', answer: away });
    assert.match(await doctor('--delete-webhook'), failure);
  }
  const deleted = await doctor('--delete-webhook');
  assert.match(deleted, /^0 [^]*✓ messenger_a: its webhook.*is deleted/);
  assert.equal(telegram.pending, 1, 'what waits is kept');
  assert.doesNotMatch(await doctor(), /webhook/);
});
