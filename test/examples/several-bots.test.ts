/** `examples/several-bots.json` runs as written, except for addresses. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { bodyOf, lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram, type FakeTelegram } from '../fake/telegram.ts';
import type { Chat, User } from '../fake/telegram/wire.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, scratch, writeConfig } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

type Address = { base_url?: string };
type Example = { channels: Address[]; brains: { models: Address[] }[]; observability?: object };

test('each bot has its brain, and the first asks others for /code and two children', async () => {
  await using scene = await scratch();
  await using first = await startFakeTelegram({ secondMs: 20 });
  await using shop = await startFakeTelegram({ secondMs: 20, token: `4712:${'s'.repeat(35)}` });
  /** One word, so that no part of it is shown before. */
  await using model = await startFakeOllama((call) => {
    const [system] = bodyOf(call).messages;
    return { answer: /family|child|programs|customers/.exec(system!.content)![0] };
  });
  const read = () => lastOf(model.calls.at(-1)!).content;
  const text = await readFile(join(root, 'examples/several-bots.json'), 'utf8');
  const example = JSON.parse(text) as Example;
  [first, shop].forEach(({ url }, index) => (example.channels[index]!.base_url = url));
  for (const brain of example.brains) brain.models[0]!.base_url = model.url;
  example.observability = { addr: `127.0.0.1:${await freePort()}` };
  const file = await writeConfig(scene.path, { ...example, admin: { token_env: 'ADMIN_TOKEN' } });
  const env = {
    TELEGRAM_TOKEN: first.token,
    SHOP_TOKEN: shop.token,
    ADMIN_TOKEN: 'an-admin-token-of-the-tests',
  };
  await using program = startServe(file, env);
  await program.saw('messenger_a is up');
  await program.saw('shop is up');

  /** The bot's next message in that chat. */
  const say = async (bot: FakeTelegram, chat: Chat, words: string, from?: User) => {
    const replies = () => bot.sent.filter(({ chatId }) => chatId === chat.id);
    const before = replies().length;
    bot.say(chat, words, from && { from });
    return (await bot.until(() => replies()[before], `an answer to “${words}”`)).text;
  };
  /** A person whom the operator lets in on this bot by a code. */
  const comes = async (bot: FakeTelegram, name: string, id: number) => {
    const user = bot.person(name, { id });
    const chat = bot.privateChat(user);
    const code = /: (\S+)\. /.exec(await say(bot, chat, 'Is anybody there?'))![1]!;
    const { code: exit, err } = await runCommand(['pair', code, '--config', file], { env });
    assert.equal(exit, 0, err);
    await bot.until(() => bot.sent.filter(({ chatId }) => chatId === id)[1], `${name} is told`);
    return { user, chat };
  };

  const child = await comes(first, 'Cleo', 111_111_111);
  const parent = await comes(first, 'Ann', 333_333_333);
  assert.equal(await say(first, child.chat, 'hello'), 'child');
  assert.equal(await say(first, parent.chat, 'hello'), 'family');
  const group = first.group('Home');
  const asked = '/code@svc_test_bot sort a list';
  assert.equal(await say(first, group, asked, child.user), 'programs', 'the first route that fits');
  assert.match(read(), /: sort a list$/, 'the model is not shown the command');
  const described = 'Ask about a program: /code and your question';
  assert.equal(await say(first, parent.chat, '/code'), described);

  const { chat } = await comes(shop, 'Cleo', 111_111_111);
  assert.equal(
    await say(shop, chat, '/code'),
    'customers',
    'the routes of the first bot end there',
  );
  assert.match(read(), /\/code$/);
});
