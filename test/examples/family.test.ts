/** `examples/family.json` runs as written, except for addresses. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { blocksOf, textOf } from '../documents/blocks.ts';
import { asks, bodyOf, lastOf } from '../agents/stage.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import type { Chat, User } from '../fake/telegram/wire.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, scratch, writeConfig } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

type Address = { base_url?: string };
type Example = { channels: Address[]; brains: { models: Address[] }[]; observability?: object };

/** Notes down what somebody asks it to remember. */
const notes = (call: ModelCall): Step => {
  const { role, content } = lastOf(call);
  const note = /remember: (.*)/.exec(content)?.[1];
  if (role === 'user' && note !== undefined) return asks('memory_note', { note });
  return { answer: role === 'tool' ? 'I keep that in mind.' : 'Hello!' };
};

/** The bot with Ann and Ben, whom the operator has let in by their codes. */
async function open() {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await scratch());
  const telegram = made.use(await startFakeTelegram({ secondMs: 20 }));
  const model = made.use(await startFakeOllama(notes));
  const text = await readFile(join(root, 'examples/family.json'), 'utf8');
  const example = JSON.parse(text) as Example;
  example.channels[0]!.base_url = telegram.url;
  example.brains[0]!.models[0]!.base_url = model.url;
  example.observability = { addr: `127.0.0.1:${await freePort()}` };
  const file = await writeConfig(folder, example);
  const env = { TELEGRAM_TOKEN: telegram.token, ADMIN_TOKEN: 'an-admin-token-of-the-tests' };
  const program = made.use(startServe(file, env));
  await program.saw('messenger_a is up');
  const svc = (...args: readonly string[]) => runCommand([...args, '--config', file], { env });
  const repliesIn = (chat: Chat) => telegram.sent.filter(({ chatId }) => chatId === chat.id);
  /** Resolves with the bot's next message in that chat. */
  const say = async (chat: Chat, words: string, from?: User) => {
    const before = repliesIn(chat).length;
    telegram.say(chat, words, from && { from });
    const what = `an answer to “${words}”`;
    return (await telegram.until(() => repliesIn(chat)[before], what)).text;
  };
  const person = async (name: string) => {
    const user = telegram.person(name);
    const chat = telegram.privateChat(user);
    const code = /: (\S+)\. /.exec(await say(chat, 'Is anybody there?'))![1]!;
    const before = repliesIn(chat).length;
    const { code: exit, err } = await svc('pair', code);
    assert.equal(exit, 0, err);
    await telegram.until(() => repliesIn(chat)[before], `${name} is told`);
    return { user, chat };
  };
  const [ann, ben] = [await person('Ann'), await person('Ben')];
  const own = made.move();
  return {
    telegram,
    model,
    svc,
    say,
    ann,
    ben,
    /** All that the model read for the last message. */
    read: () => JSON.stringify(bodyOf(model.calls.at(-1)!).messages),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('the family’s bot has its character, and what it is told stays in that chat', async () => {
  await using it = await open();
  const { ann, ben } = it;
  assert.equal(
    await it.say(ann.chat, 'remember: I hide gifts in the attic'),
    'I keep that in mind.',
  );
  await it.say(ann.chat, 'hello');
  assert.match(it.read(), /"You are Pip, the helper of one family\. [^]*attic/);
  await it.say(ann.chat, '/new');
  await it.say(ann.chat, 'hello');
  assert.match(it.read(), /attic/, 'a note outlasts the session');

  await it.say(ben.chat, 'hello');
  assert.doesNotMatch(it.read(), /attic/, 'Ben’s chat knows nothing of it');
  const home = it.telegram.group('Home');
  await it.say(home, '@svc_test_bot remember: milk is out', ann.user);
  await it.say(home, '@svc_test_bot what is out?', ben.user);
  assert.match(it.read(), /milk is out/, 'the group has its own notes');
  assert.match(it.read(), /Ann[^]*Ben/, 'the model is told who speaks');
  assert.doesNotMatch(it.read(), /attic/, 'and none of Ann’s');
  await it.say(ann.chat, 'hello');
  assert.doesNotMatch(it.read(), /milk/, 'the private chat knows nothing of the group');
});

test('in the group only the family is heard, and only when it speaks to the bot', async () => {
  await using it = await open();
  const home = it.telegram.group('Home');
  const calls = it.model.calls.length;
  it.telegram.say(home, 'Dinner is ready.', { from: it.ann.user });
  it.telegram.say(home, '@svc_test_bot let me in', { from: it.telegram.person('Eve') });
  assert.equal(await it.say(home, '@svc_test_bot hi', it.ben.user), 'Hello!');
  assert.equal(it.model.calls.length, calls + 1);
  assert.doesNotMatch(it.read(), /Dinner|let me in/);
});

test('a person forgets their notes, and the operator deletes what a person said', async () => {
  await using it = await open();
  const { ann } = it;
  await it.say(ann.chat, 'remember: I hide gifts in the attic');
  assert.match(await it.say(ann.chat, '/notes'), /I hide gifts in the attic/);
  await it.say(ann.chat, '/notes clear');
  await it.say(ann.chat, '/new');
  await it.say(ann.chat, 'hello');
  assert.doesNotMatch(it.read(), /attic/);
  const sender = ['--sender', String(ann.user.id)];
  assert.match((await it.svc('conversations', 'export', 'telegram', ...sender)).out, /attic/);
  const gone = await it.svc('conversations', 'delete', 'telegram', ...sender, '--yes');
  assert.equal(gone.code, 0, gone.err);
  const left = await it.svc('conversations', 'export', 'telegram', ...sender);
  assert.doesNotMatch(left.out, /attic/);
});

test('the recipe shows this whole configuration', async () => {
  const text = await readFile(join(root, 'examples/family.json'), 'utf8');
  const shown = blocksOf(textOf('docs/recipes/family-bot.md')).map((block) => block.text);
  assert.ok(shown.includes(text));
});
