/** A bot's usual features on a fake Telegram: svc's own commands and their menu. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import type { Script } from '../fake/model-server.ts';
import { refuse, type Chat } from '../fake/telegram/wire.ts';
import { openTelegram } from './program.ts';

const session = { triggers: ['/new', 'again!'], recall_max: 3 };
const durable = { storage: { path: 'svc.db' }, session };

async function stage(more: object = durable, channel: object = {}) {
  const fails = { on: false };
  const script: Script = (call) =>
    fails.on ? { fail: '401' } : { answer: `heard: ${lastOf(call).content}` };
  const it = await openTelegram(script, { more, channel });
  const { telegram } = it;
  const sentTo = (chat: Chat) => telegram.sent.filter(({ chatId }) => chatId === chat.id);
  return {
    ...it,
    fails,
    start: () => it.start({ CMD_ADMIN: adminToken }),
    /** The n-th message in that chat, from 1. */
    sent: (chat: Chat, n: number) =>
      telegram.until(() => sentTo(chat)[n - 1], `message ${n} in chat ${chat.id}`),
    admin: (path: string) =>
      fetch(`http://127.0.0.1:${it.adminPort}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}` },
      }),
  };
}

/** The description of a command that is not offered here. */
const ownDescription = 'See which tools there are here, and their last uses';
const adminToken = 'an-admin-token-of-the-commands';

test('/start greets, /help lists what there is, and the menu is set once', async () => {
  await using it = await stage();
  {
    await using program = it.start();
    it.telegram.say(it.ann, '/start from-a-link');
    assert.match((await it.sent(it.ann, 1)).text, /^Hello! .*\/help/);
    it.telegram.say(it.ann, '/help');
    const { text } = await it.sent(it.ann, 2);
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
  it.telegram.say(it.ann, 'hello');
  assert.equal((await it.sent(it.ann, 3)).text, 'heard: hello');
  assert.equal(it.telegram.callsOf('setMyCommands').length, 1, 'they are there already');
  assert.equal(await program.stop(), 0);
});

test('what the owner of the bot put into the menu stays, and what was svc’s goes', async () => {
  await using it = await stage();
  const weather = { command: 'weather', description: 'What it is like outside' };
  const theirs = { command: 'new', description: 'Neues Gespräch' };
  const former = { command: 'tools', description: ownDescription };
  it.telegram.commands.list = [former, weather, theirs];
  await using program = it.start();
  await it.telegram.waitForCall('setMyCommands');
  const menu = () => it.telegram.commands.list;
  await it.telegram.until(() => menu().length === 5 || undefined, 'a menu');
  assert.deepEqual(menu().slice(0, 2), [weather, theirs]);
  const words = menu().map(({ command }) => command);
  assert.deepEqual(words, ['weather', 'new', 'recall', 'retry', 'help']);
  assert.equal(await program.stop(), 0);
});

test('a menu that could not be set at the start is set once the channel is up', async () => {
  await using it = await stage();
  it.telegram.fail('getMyCommands', { kind: 'reset' });
  it.telegram.fail('getMe', { kind: 'reset' }, 2);
  await using program = it.start();
  await it.telegram.until(() => it.telegram.commands.list.length > 0 || undefined, 'a menu');
  assert.doesNotMatch(program.log(), /commands_refused/);
  assert.equal(await program.stop(), 0);
});

test('that Telegram refuses the menu is logged once, with what can be done', async () => {
  await using it = await stage();
  const answer = refuse(400, 'Bad Request: BOT_COMMAND_INVALID');
  it.telegram.fail('setMyCommands', { kind: 'refuse', answer }, 9);
  await using program = it.start();
  await program.saw('commands_refused');
  it.telegram.say(it.ann, 'hello');
  assert.equal((await it.sent(it.ann, 1)).text, 'heard: hello');
  assert.match(program.log(), /warn.*refused the menu of commands.*@BotFather/);
  assert.equal(program.log().split('commands_refused').length, 2);
  assert.equal(it.telegram.callsOf('setMyCommands').length, 1);
  assert.equal(await program.stop(), 0);
});

test('a trigger with the name of a command is the trigger', async () => {
  await using it = await stage({ ...durable, session: { triggers: ['/start', '/retry'] } });
  await using program = it.start();
  it.telegram.say(it.ann, '/start');
  assert.match((await it.sent(it.ann, 1)).text, /^A new session begins\./);
  it.telegram.say(it.ann, '/help');
  const { text } = await it.sent(it.ann, 2);
  assert.equal(text.split('\n').filter((line) => line.startsWith('/retry')).length, 1);
  assert.equal(await program.stop(), 0);
});

test('a menu that Telegram does not take changes nothing', async () => {
  await using it = await stage();
  const answer = refuse(500, 'Internal Server Error');
  it.telegram.fail('setMyCommands', { kind: 'refuse', answer }, 9);
  await using program = it.start();
  it.telegram.say(it.ann, 'hello');
  assert.equal((await it.sent(it.ann, 1)).text, 'heard: hello');
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
  it.telegram.say(group, '/new', { from: it.user });
  assert.match((await it.sent(group, 1)).text, /^A new session begins\./);
  const said = it.telegram.say(group, '@svc_test_bot hello', { from: it.user });
  assert.equal((await it.sent(group, 2)).text, 'heard: Ann: hello');
  const seen = (): true | undefined =>
    it.telegram.reactions.some(({ messageId }) => messageId === said.message_id) || undefined;
  await it.telegram.until(seen, 'a reaction');
  assert.ok(it.telegram.reactions.every(({ emoji }) => emoji === '👀'));
  assert.equal(it.telegram.reactions.length, 2, 'the command, and the question');
  it.telegram.say(it.ann, 'hello');
  await it.sent(it.ann, 1);
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
  it.telegram.say(it.ann, 'what is up?');
  assert.equal((await it.sent(it.ann, 1)).text, 'heard: what is up?');
  it.fails.on = true;
  it.telegram.say(it.ann, 'and now?');
  const sorry = await it.sent(it.ann, 2);
  assert.match(sorry.text, /no answer right now/);
  it.telegram.press(it.user, sorry.message, 'Try again');
  const again = await it.sent(it.ann, 3);
  assert.match(again.text, /no answer right now/, 'it may fail again');
  it.fails.on = false;
  it.telegram.press(it.user, again.message, 'Try again');
  assert.equal((await it.sent(it.ann, 4)).text, 'heard: and now?');
  it.telegram.say(it.ann, '/retry');
  assert.match((await it.sent(it.ann, 5)).text, /^There is nothing to ask again/);
  it.telegram.say(it.ann, 'last');
  assert.equal((await it.sent(it.ann, 6)).text, 'heard: last');
  const { messages } = it.model.calls.at(-1)!.body as { messages: { content: string }[] };
  const asked = messages.filter(({ content }) => content === 'and now?');
  assert.equal(asked.length, 1, 'it is remembered once');
  it.fails.on = true;
  it.telegram.say(it.ann, 'why?');
  const third = await it.sent(it.ann, 7);
  it.telegram.press(it.user, third.message, 'New session');
  assert.match((await it.sent(it.ann, 8)).text, /^A new session begins\./);
  it.telegram.say(it.ann, '/retry');
  assert.match((await it.sent(it.ann, 9)).text, /^There is nothing to ask again/);
  assert.equal(await program.stop(), 0);
});

test('a press under an older failure asks that one again', async () => {
  await using it = await stage();
  await using program = it.start();
  it.fails.on = true;
  it.telegram.say(it.ann, 'first?');
  const first = await it.sent(it.ann, 1);
  it.telegram.say(it.ann, 'second?');
  await it.sent(it.ann, 2);
  it.fails.on = false;
  it.telegram.press(it.user, first.message, 'Try again');
  assert.equal((await it.sent(it.ann, 3)).text, 'heard: first?');
  it.telegram.say(it.ann, '/retry');
  assert.equal((await it.sent(it.ann, 4)).text, 'heard: second?');
  assert.equal(await program.stop(), 0);
});

test('without storage nothing can be asked again: no button says so', async () => {
  await using it = await stage({});
  it.fails.on = true;
  await using program = it.start();
  it.telegram.say(it.ann, 'hello');
  const { message, text } = await it.sent(it.ann, 1);
  assert.match(text, /no answer right now/);
  assert.equal(message['reply_markup'], undefined);
  assert.equal(await program.stop(), 0);
});

test('who was let in is told so, once, also after a restart', async () => {
  const more = { ...durable, admin: { token_env: 'CMD_ADMIN' } };
  await using it = await stage(more, { access: { pairing: true } });
  {
    await using program = it.start();
    it.telegram.say(it.ann, 'let me in');
    const { text } = await it.sent(it.ann, 1);
    const code = /: ([A-Z0-9]{8})\./.exec(text)![1]!;
    assert.equal((await it.admin(`/api/v1/pairings/${code}`)).status, 200);
    assert.match((await it.sent(it.ann, 2)).text, /^You are in/);
    it.telegram.say(it.ann, 'hello');
    assert.equal((await it.sent(it.ann, 3)).text, 'heard: hello');
    assert.equal(await program.stop(), 0);
  }
  await using program = it.start();
  it.telegram.say(it.ann, 'again');
  assert.equal((await it.sent(it.ann, 4)).text, 'heard: again');
  assert.equal(await program.stop(), 0);
});
