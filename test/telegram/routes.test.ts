/** What routes find on Telegram: commands in groups, topics, and former ids of chats. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import type { Chat } from '../fake/telegram/wire.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch } from '../support/program.ts';
import { writeTelegramConfig } from './program.ts';

type Line = { readonly role: string; readonly content: string };

/** The brain's name, and what its model was asked. */
function answer(call: ModelCall): Step {
  const { messages } = call.body as { readonly messages: readonly Line[] };
  const name = /I am (\w+)/.exec(messages[0]!.content)?.[1] ?? 'nobody';
  return { answer: `${name}: ${messages.at(-1)!.content}` };
}

type Fake = Awaited<ReturnType<typeof startFakeTelegram>>;

/** A service with these conditional routes; `usual` answers every other message. */
async function stage(
  routesOn: (telegram: Fake) => Readonly<Record<string, object>>,
  readsAllGroupMessages = false,
) {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await scratch());
  const options = { secondMs: 20, readsAllGroupMessages };
  const telegram = made.use(await startFakeTelegram(options));
  const model = made.use(await startFakeOllama(answer));
  const conditions = Object.entries(routesOn(telegram));
  const local = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
  const brains = [...conditions.map(([name]) => name), 'usual'].map((name) => {
    const models = [{ ...local, base_url: model.url }];
    const of = { sensitivity: 'private', policy: { kind: 'priority' }, models };
    return { name, system_prompt: `I am ${name}`, ...of };
  });
  const routes = [
    ...conditions.map(([brain, when]) => ({ channel: 'telegram', brain, when })),
    { channel: 'telegram', brain: 'usual' },
  ];
  const where = { telegramUrl: telegram.url, modelUrl: model.url, adminPort: await freePort() };
  const more = { brains, routes, storage: { path: 'svc.db' } };
  const file = await writeTelegramConfig(folder, { ...where, more });
  const own = made.move();
  let said = 0;
  return {
    telegram,
    start: () => startServe(file, { TELEGRAM_TOKEN: telegram.token }),
    /** Says it, and resolves with the reply. */
    ask: async (chat: Chat, text: string, unusual = {}): Promise<string> => {
      telegram.say(chat, text, unusual);
      const sent = await telegram.waitForSent(++said);
      return sent[said - 1]!.text;
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a command of a route needs no mention in a group, and no model sees it', async () => {
  for (const readsAll of [false, true]) {
    await using it = await stage(() => ({ coder: { commands: ['/code'] } }), readsAll);
    const group = it.telegram.supergroup('Team');
    await using program = it.start();
    assert.match(await it.ask(group, '/code fix it'), /^coder: .*: fix it$/);
    assert.match(await it.ask(group, '/code@svc_test_bot fix it'), /^coder: .*: fix it$/);
    for (const text of ['/code@other_bot fix it', '/weather', 'fix it']) {
      it.telegram.say(group, text);
    }
    assert.match(await it.ask(group, '@svc_test_bot hello'), /^usual: .*: hello$/);
    const ann = it.telegram.privateChat(it.telegram.person('Ann'));
    assert.equal(await it.ask(ann, '/code fix it'), 'coder: fix it');
    assert.equal(it.telegram.sent.length, 4, 'what was said to others has no reply');
    assert.equal(await program.stop(), 0, program.log());
  }
});

test('a command is found behind a mention, before a new line, and in a caption', async () => {
  await using it = await stage(() => ({ coder: { commands: ['/code'] } }));
  const { telegram } = it;
  const group = telegram.supergroup('Team');
  await using program = it.start();
  assert.match(await it.ask(group, '/code\nfix it'), /^coder: .*: fix it$/);
  assert.match(await it.ask(group, '@svc_test_bot /code fix it'), /^coder: .*: fix it$/);
  const both = '@svc_test_bot\n/code@Svc_Test_Bot\nfix it';
  assert.match(await it.ask(group, both), /^coder: .*: fix it$/);
  const from = telegram.person('Bob');
  const { message_id: replyTo } = telegram.say(group, 'It is broken', { from });
  assert.match(await it.ask(group, '/code', { replyTo }), /^coder: [^]*It is broken$/);
  const caption_entities = [{ type: 'bot_command', offset: 0, length: 5 }];
  telegram.post(group, { sticker: {}, caption: '/code fix it', caption_entities });
  assert.match((await telegram.waitForSent(5))[4]!.text, /^coder: .*: fix it\n/);
  const channel = telegram.channel('News');
  telegram.say(channel, '/code fix it');
  telegram.say(group, '/code fix it', { fields: { sender_chat: channel } });
  telegram.say(group, '/code it all', { fields: { sender_chat: group } });
  assert.match((await telegram.waitForSent(6))[5]!.text, /^coder: Team: it all$/);
  assert.equal(await program.stop(), 0, program.log());
});

test('a route finds a topic by its number, and the General topic has none', async () => {
  const chats: { forum?: Chat; lunch?: number } = {};
  await using it = await stage((telegram) => {
    const forum = (chats.forum = telegram.forum('Team'));
    const lunch = (chats.lunch = telegram.openTopic(forum, 'Lunch'));
    return { cook: { chats: [forum.id], topics: [lunch] } };
  });
  const { forum, lunch } = chats as Required<typeof chats>;
  await using program = it.start();
  assert.match(await it.ask(forum, '@svc_test_bot one', { topic: lunch }), /^cook: .*: one$/);
  assert.match(await it.ask(forum, '@svc_test_bot two'), /^usual: .*: two$/);
  assert.equal(await program.stop(), 0, program.log());
});

test('a group that became a supergroup keeps its route, after a restart, too', async () => {
  const chats: { group?: Chat } = {};
  await using it = await stage((telegram) => {
    const group = (chats.group = telegram.group('Team'));
    return { cook: { chats: [String(group.id)] } };
  });
  const { telegram } = it;
  let next: Chat;
  {
    await using program = it.start();
    assert.match(await it.ask(chats.group!, '@svc_test_bot one'), /^cook: /);
    next = telegram.migrate(chats.group!);
    assert.match(await it.ask(next, '@svc_test_bot two'), /^cook: /);
    assert.equal(await program.stop(), 0, program.log());
  }
  await using program = it.start();
  assert.match(await it.ask(next, '@svc_test_bot three'), /^cook: /);
  assert.match(await it.ask(telegram.supergroup('Other'), '@svc_test_bot four'), /^usual: /);
  assert.equal(await program.stop(), 0, program.log());
});
