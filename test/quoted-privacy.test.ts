/** What a message replies to: what of it a model elsewhere is shown, on the whole program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeOllama } from './fake/ollama.ts';
import type { ModelCall } from './fake/model-server.ts';
import { startFakeOpenai } from './fake/openai.ts';
import { startFakeTelegram } from './fake/telegram.ts';
import { startServe } from './in-process.ts';
import { freePort, scratch } from './program.ts';
import { writeTelegramConfig } from './telegram-program.ts';

const secret = 'the safe opens with 4711';
type Body = { readonly messages: readonly { readonly content: string }[] };

test('a model elsewhere is quoted what a public brain said and no private one', async () => {
  await using own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20 }));
  const local = own.use(await startFakeOllama({ answer: secret }));
  const cloud = own.use(await startFakeOpenai({ answer: 'It is **four**.' }));
  const ann = telegram.privateChat(telegram.person('Ann'));
  const adminPort = await freePort();
  const env = { TELEGRAM_TOKEN: telegram.token, CLOUD_KEY: 'a-key-of-the-tests' };
  const lastAway = () => (cloud.calls.at(-1)!.body as Body).messages.at(-1)!.content;
  const serve = async (more: object) => {
    const where = { telegramUrl: telegram.url, modelUrl: local.url, adminPort };
    const file = await writeTelegramConfig(folder, {
      ...where,
      more: { storage: { path: 'svc.db' }, session: {}, ...more },
    });
    return startServe(file, env);
  };
  {
    await using program = await serve({});
    telegram.say(ann, 'where is it?');
    await telegram.waitForSent(1);
    assert.equal(await program.stop(), 0, program.log());
  }
  const [told] = telegram.sent;
  const model = { provider: 'hosted_runtime', model_id: 'gpt-test', locality: 'cloud' };
  const models = [{ ...model, base_url: cloud.url, api_key_env: 'CLOUD_KEY' }];
  const brains = [{ name: 'echo', sensitivity: 'public', policy: { kind: 'priority' }, models }];
  await using program = await serve({ brains });
  telegram.say(ann, 'and this?', { replyTo: told!.message.message_id });
  await telegram.waitForSent(2);
  assert.equal(lastAway(), 'and this?');
  telegram.say(ann, 'why?', { replyTo: telegram.sent[1]!.message.message_id });
  await telegram.waitForSent(3);
  assert.equal(lastAway(), 'why?\n\nReplying to your earlier answer:\n> It is four.');
  assert.ok(cloud.calls.every(({ text }) => !text.includes('4711')));
  assert.equal(await program.stop(), 0, program.log());
});

/** How Telegram shows each is no part of it as a model writes it; the words are told by `n`. */
const shapes: Readonly<Record<string, (n: string) => string>> = {
  list: (n) => `Three fruits:\n\n- apple ${n}\n- pear\n- plum`,
  link: (n) => `See [the manual ${n}](https://example.org/a) for it.`,
  code: (n) => `Try this:\n\n\`\`\`python\nprint('${n}')\n\`\`\`\n\nand tell me.`,
  emphasis: (n) => `It is **${n}**.`,
  table: (n) => `| a | b |\n|---|---|\n| 1 | ${n} |`,
  rule: (n) => `One\n\n---\n\nTwo ${n}`,
  entity: (n) => `a &lt; b and x &amp; ${n}`,
  numbered: (n) => `1. one\n2. ${n}`,
  'numbered with brackets': (n) => `1) one\n2) ${n}`,
};
const names = Object.keys(shapes);

test('an answer of any shape is quoted elsewhere, and one of a private brain in none', async () => {
  await using own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20 }));
  const shaped = ({ body }: ModelCall, word: string) => {
    const said = (body as Body).messages.at(-1)!.content;
    return { answer: Object.hasOwn(shapes, said) ? shapes[said]!(word) : 'noted' };
  };
  const local = own.use(await startFakeOllama((call) => shaped(call, 'secret')));
  const cloud = own.use(await startFakeOpenai((call) => shaped(call, 'open')));
  // A chat takes about a message a second: each shape has its own.
  const chats = new Map(names.map((name) => [name, telegram.privateChat(telegram.person(name))]));
  const adminPort = await freePort();
  const serve = async (more: object) => {
    const where = { telegramUrl: telegram.url, modelUrl: local.url, adminPort };
    const file = await writeTelegramConfig(folder, {
      ...where,
      more: { storage: { path: 'svc.db' }, session: {}, ...more },
    });
    return startServe(file, { TELEGRAM_TOKEN: telegram.token, CLOUD_KEY: 'a-key-of-the-tests' });
  };
  const answered = async (name: string, text: string, replyTo?: number) => {
    const before = telegram.sent.length;
    telegram.say(chats.get(name)!, text, replyTo === undefined ? {} : { replyTo });
    return (await telegram.waitForSent(before + 1)).at(-1)!.message;
  };
  const kept = new Map<string, number>();
  {
    await using program = await serve({});
    for (const name of names) kept.set(name, (await answered(name, name)).message_id);
    assert.equal(await program.stop(), 0, program.log());
  }
  const model = { provider: 'hosted_runtime', model_id: 'gpt-test', locality: 'cloud' };
  const models = [{ ...model, base_url: cloud.url, api_key_env: 'CLOUD_KEY' }];
  const brains = [{ name: 'echo', sensitivity: 'public', policy: { kind: 'priority' }, models }];
  await using program = await serve({ brains });
  const lastAway = () => (cloud.calls.at(-1)!.body as Body).messages.at(-1)!.content;
  for (const name of names) {
    await answered(name, 'and this?', kept.get(name));
    assert.equal(lastAway(), 'and this?', name);
    const { text, message_id } = await answered(name, name);
    await answered(name, 'why?', message_id);
    const lines = text!.split('\n').map((line) => `> ${line}`);
    const quote = `Replying to your earlier answer:\n${lines.join('\n')}`;
    assert.equal(lastAway(), `why?\n\n${quote}`, name);
  }
  assert.ok(cloud.calls.every(({ text }) => !text.includes('secret')));
  assert.equal(await program.stop(), 0, program.log());
});

test('an answer that still grew when it was quoted is quoted as far as it was', async () => {
  await using own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20 }));
  const quoted = Promise.withResolvers<void>();
  const between = (piece: number) => (piece === 6 ? quoted.promise : undefined);
  const answer = 'See [it](https://example.org/a) there, or ask.';
  const cloud = own.use(await startFakeOpenai({ answer, between }));
  const model = { provider: 'hosted_runtime', model_id: 'gpt-test', locality: 'cloud' };
  const models = [{ ...model, base_url: cloud.url, api_key_env: 'CLOUD_KEY' }];
  const brains = [{ name: 'echo', sensitivity: 'public', policy: { kind: 'priority' }, models }];
  const where = { telegramUrl: telegram.url, modelUrl: cloud.url, adminPort: await freePort() };
  const file = await writeTelegramConfig(folder, {
    ...where,
    channel: { streaming: true },
    more: { storage: { path: 'svc.db' }, session: {}, brains },
  });
  const env = { TELEGRAM_TOKEN: telegram.token, CLOUD_KEY: 'a-key-of-the-tests' };
  await using program = startServe(file, env);
  const ann = telegram.privateChat(telegram.person('Ann'));
  telegram.say(ann, 'where?');
  const [growing] = await telegram.waitForSent(1);
  assert.match(growing!.message.text!, /^See it.* …$/);
  telegram.say(ann, 'why?', { replyTo: growing!.message.message_id });
  quoted.resolve();
  await telegram.waitForSent(2);
  const { content } = (cloud.calls.at(-1)!.body as Body).messages.at(-1)!;
  const quote = `Replying to your earlier answer:\n> ${growing!.message.text!}`;
  assert.equal(content, `why?\n\n${quote}`);
  assert.equal(await program.stop(), 0, program.log());
});

test('in a group who speaks is told, and later turns remember it', async () => {
  await using own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20 }));
  const local = own.use(await startFakeOllama({ answer: 'so' }));
  const [anna, bob] = [telegram.person('Anna'), telegram.person('Bob')];
  const group = telegram.group('Friends');
  const where = { telegramUrl: telegram.url, modelUrl: local.url, adminPort: await freePort() };
  const file = await writeTelegramConfig(folder, {
    ...where,
    more: { storage: { path: 'svc.db' }, session: {} },
  });
  await using program = startServe(file, { TELEGRAM_TOKEN: telegram.token });
  await program.saw('is up');
  const at = `@${telegram.bot.username}`;
  const said = telegram.say(group, 'it rains', { from: bob });
  telegram.say(group, `${at} is it so?`, { from: anna, replyTo: said.message_id });
  await telegram.waitForSent(1);
  telegram.say(group, `${at} and now?`, { from: bob });
  await telegram.waitForSent(2);
  const { messages } = local.calls.at(-1)!.body as Body;
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['Anna: is it so?\n\nReplying to Bob:\n> it rains', 'so', 'Bob: and now?'],
  );
  assert.equal(await program.stop(), 0, program.log());
});
