/** What people expect of a bot, on a Telegram that is a fake: svc's own commands and their menu. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from './agent-stage.ts';
import type { ModelCall, Step } from './fake/model-server.ts';
import { startFakeOllama } from './fake/ollama.ts';
import { startFakeTelegram } from './fake/telegram.ts';
import { refuse, type Chat } from './fake/telegram/wire.ts';
import { startServe } from './in-process.ts';
import { freePort, scratch } from './program.ts';
import { writeTelegramConfig } from './telegram-program.ts';

const session = { triggers: ['/new', 'again!'], recall_max: 3 };
const durable = { storage: { path: 'svc.db' }, session };

async function stage(more: object = durable, channel: object = {}) {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20 }));
  const fails = { on: false };
  const script = (call: ModelCall): Step =>
    fails.on ? { fail: '401' } : { answer: `heard: ${lastOf(call).content}` };
  const model = own.use(await startFakeOllama(script));
  const adminPort = await freePort();
  const urls = { telegramUrl: telegram.url, modelUrl: model.url, adminPort };
  const file = await writeTelegramConfig(folder, { ...urls, more, channel });
  const ann = telegram.person('Ann');
  const sentTo = (chat: Chat) => telegram.sent.filter(({ chatId }) => chatId === chat.id);
  return {
    telegram,
    model,
    fails,
    file,
    ann,
    chat: telegram.privateChat(ann),
    start: () => startServe(file, { TELEGRAM_TOKEN: telegram.token, CMD_ADMIN: adminToken }),
    /** The n-th message in that chat, from 1. */
    sent: (chat: Chat, n: number) =>
      telegram.until(() => sentTo(chat)[n - 1], `message ${n} in chat ${chat.id}`),
    admin: (path: string) =>
      fetch(`http://127.0.0.1:${adminPort}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}` },
      }),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

const adminToken = 'an-admin-token-of-the-commands';

test('/start greets, /help lists what there is, and the menu is set once', async () => {
  await using it = await stage();
  {
    await using program = it.start();
    it.telegram.say(it.chat, '/start from-a-link');
    assert.match((await it.sent(it.chat, 1)).text, /^Hello! .*\/help/);
    it.telegram.say(it.chat, '/help');
    const { text } = await it.sent(it.chat, 2);
    const words = text.split('\n').map((line) => line.split(':')[0]);
    const listed = ['/new', 'again!', '/recall', '/retry', '/help'];
    assert.deepEqual(words.slice(1, -1), listed);
    await it.telegram.until(() => it.telegram.commands.list.length > 0 || undefined, 'a menu');
    const menu = it.telegram.commands.list.map(({ command }) => command);
    assert.deepEqual(menu, ['new', 'recall', 'retry', 'help']);
    assert.equal(it.model.calls.length, 0);
    assert.equal(await program.stop(), 0);
  }
  await using program = it.start();
  await it.telegram.waitForCall('getMyCommands', 1);
  it.telegram.say(it.chat, 'hello');
  assert.equal((await it.sent(it.chat, 3)).text, 'heard: hello');
  assert.equal(it.telegram.callsOf('setMyCommands').length, 1, 'they are there already');
  assert.equal(await program.stop(), 0);
});

test('a trigger with the name of a command is the trigger', async () => {
  await using it = await stage({ ...durable, session: { triggers: ['/start', '/retry'] } });
  await using program = it.start();
  it.telegram.say(it.chat, '/start');
  assert.match((await it.sent(it.chat, 1)).text, /^A new session begins\./);
  it.telegram.say(it.chat, '/help');
  const { text } = await it.sent(it.chat, 2);
  assert.equal(text.split('\n').filter((line) => line.startsWith('/retry')).length, 1);
  assert.equal(await program.stop(), 0);
});

test('a menu that Telegram does not take changes nothing', async () => {
  await using it = await stage();
  const answer = refuse(500, 'Internal Server Error');
  it.telegram.fail('setMyCommands', { kind: 'refuse', answer }, 9);
  await using program = it.start();
  it.telegram.say(it.chat, 'hello');
  assert.equal((await it.sent(it.chat, 1)).text, 'heard: hello');
  await it.telegram.waitForCall('setMyCommands');
  assert.doesNotMatch(program.log(), /MyCommands/);
  assert.equal(await program.stop(), 0);
});

test('in a group a command of svc needs no name, and what is said to it gets eyes', async () => {
  await using it = await stage();
  const group = it.telegram.supergroup('Team');
  await using program = it.start();
  it.telegram.say(group, '/weather');
  it.telegram.say(group, 'chatter');
  it.telegram.say(group, '/new', { from: it.ann });
  assert.match((await it.sent(group, 1)).text, /^A new session begins\./);
  const said = it.telegram.say(group, '@svc_test_bot hello', { from: it.ann });
  assert.equal((await it.sent(group, 2)).text, 'heard: Ann: hello');
  const seen = (): true | undefined =>
    it.telegram.reactions.some(({ messageId }) => messageId === said.message_id) || undefined;
  await it.telegram.until(seen, 'a reaction');
  assert.ok(it.telegram.reactions.every(({ emoji }) => emoji === '👀'));
  assert.equal(it.telegram.reactions.length, 2, 'the command, and the question');
  it.telegram.say(it.chat, 'hello');
  await it.sent(it.chat, 1);
  assert.equal(it.telegram.reactions.length, 2, 'none where two are alone');
  assert.equal(await program.stop(), 0);
});

test('an anonymous administrator is answered, unless there is a list', async () => {
  for (const [channel, answered] of [
    [{}, true],
    [{ access: { allow: ['1'] } }, false],
  ] as const) {
    await using it = await stage(durable, channel);
    const group = it.telegram.supergroup('Team');
    const from = { id: 1_087_968_824, is_bot: true, first_name: 'Group' };
    await using program = it.start();
    it.telegram.say(group, '@svc_test_bot hello', { from, fields: { sender_chat: group } });
    await it.telegram.until(() => (it.telegram.pending === 0 ? true : undefined), 'none waits');
    if (answered) assert.equal((await it.sent(group, 1)).text, 'heard: Team: hello');
    assert.equal(await program.stop(), 0);
    assert.equal(it.telegram.sent.length, answered ? 1 : 0);
  }
});

test('under a failed turn a press asks again, or begins a new session', async () => {
  await using it = await stage();
  await using program = it.start();
  it.telegram.say(it.chat, 'what is up?');
  assert.equal((await it.sent(it.chat, 1)).text, 'heard: what is up?');
  it.fails.on = true;
  it.telegram.say(it.chat, 'and now?');
  const sorry = await it.sent(it.chat, 2);
  assert.match(sorry.text, /no answer right now/);
  it.telegram.press(it.ann, sorry.message, 'Try again');
  const again = await it.sent(it.chat, 3);
  assert.match(again.text, /no answer right now/, 'it may fail again');
  it.fails.on = false;
  it.telegram.press(it.ann, again.message, 'Try again');
  assert.equal((await it.sent(it.chat, 4)).text, 'heard: and now?');
  it.telegram.say(it.chat, '/retry');
  assert.match((await it.sent(it.chat, 5)).text, /^There is nothing to ask again/);
  it.telegram.say(it.chat, 'last');
  assert.equal((await it.sent(it.chat, 6)).text, 'heard: last');
  const { messages } = it.model.calls.at(-1)!.body as { messages: { content: string }[] };
  const asked = messages.filter(({ content }) => content === 'and now?');
  assert.equal(asked.length, 1, 'it is remembered once');
  it.fails.on = true;
  it.telegram.say(it.chat, 'why?');
  const third = await it.sent(it.chat, 7);
  it.telegram.press(it.ann, third.message, 'New session');
  assert.match((await it.sent(it.chat, 8)).text, /^A new session begins\./);
  it.telegram.say(it.chat, '/retry');
  assert.match((await it.sent(it.chat, 9)).text, /^There is nothing to ask again/);
  assert.equal(await program.stop(), 0);
});

test('a press under an older failure asks that one again', async () => {
  await using it = await stage();
  await using program = it.start();
  it.fails.on = true;
  it.telegram.say(it.chat, 'first?');
  const first = await it.sent(it.chat, 1);
  it.telegram.say(it.chat, 'second?');
  await it.sent(it.chat, 2);
  it.fails.on = false;
  it.telegram.press(it.ann, first.message, 'Try again');
  assert.equal((await it.sent(it.chat, 3)).text, 'heard: first?');
  it.telegram.say(it.chat, '/retry');
  assert.equal((await it.sent(it.chat, 4)).text, 'heard: second?');
  assert.equal(await program.stop(), 0);
});

test('without storage nothing can be asked again: no button says so', async () => {
  await using it = await stage({});
  it.fails.on = true;
  await using program = it.start();
  it.telegram.say(it.chat, 'hello');
  const { message, text } = await it.sent(it.chat, 1);
  assert.match(text, /no answer right now/);
  assert.equal(message['reply_markup'], undefined);
  assert.equal(await program.stop(), 0);
});

test('who was let in is told so, once, also after a restart', async () => {
  const more = { ...durable, admin: { token_env: 'CMD_ADMIN' } };
  await using it = await stage(more, { access: { pairing: true } });
  {
    await using program = it.start();
    it.telegram.say(it.chat, 'let me in');
    const { text } = await it.sent(it.chat, 1);
    const code = /: ([A-Z0-9]{8})\./.exec(text)![1]!;
    assert.equal((await it.admin(`/api/v1/pairings/${code}`)).status, 200);
    assert.match((await it.sent(it.chat, 2)).text, /^You are in/);
    it.telegram.say(it.chat, 'hello');
    assert.equal((await it.sent(it.chat, 3)).text, 'heard: hello');
    assert.equal(await program.stop(), 0);
  }
  await using program = it.start();
  it.telegram.say(it.chat, 'again');
  assert.equal((await it.sent(it.chat, 4)).text, 'heard: again');
  assert.equal(await program.stop(), 0);
});
