/** What a message replies to: what of it a model elsewhere is shown, on the whole program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeOllama } from './fake/ollama.ts';
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
