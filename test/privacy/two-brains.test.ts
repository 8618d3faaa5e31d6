/** A private and a public brain answer one conversation in turn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { startServe } from '../support/in-process.ts';
import { scratch, writeConfig } from '../support/program.ts';

const secret = 'the safe opens with 4711';

/** `/ask` reaches a model in the cloud; everything else goes to a model on this machine. */
async function stage() {
  await using parts = new AsyncDisposableStack();
  const { path: folder } = parts.use(await scratch());
  const local = parts.use(await startFakeOllama((call) => ({ answer: lastOf(call).content })));
  const fails = { on: false };
  const cloud = parts.use(
    await startFakeOpenai(() =>
      fails.on ? { status: 500, body: '' } : { answer: 'from elsewhere' },
    ),
  );
  const telegram = parts.use(await startFakeTelegram({ secondMs: 20 }));
  const token = '210201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1';
  const second = parts.use(await startFakeTelegram({ secondMs: 20, token }));
  const here = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  const away = { provider: 'hosted_runtime', model_id: 'gpt-test', locality: 'cloud' };
  const key = { base_url: cloud.url, api_key_env: 'CLOUD_KEY' };
  const policy = { kind: 'priority' };
  const bot = { type: 'telegram', mode: 'polling', streaming: false };
  const file = await writeConfig(folder, {
    brains: [
      { name: 'home', sensitivity: 'private', policy, models: [{ ...here, base_url: local.url }] },
      { name: 'open', sensitivity: 'public', policy, models: [{ ...away, ...key }] },
    ],
    channels: [
      { ...bot, token_env: 'TELEGRAM_TOKEN', base_url: telegram.url },
      { ...bot, name: 'second', token_env: 'SECOND_TOKEN', base_url: second.url },
    ],
    routes: [
      { channel: 'telegram', brain: 'home', when: { commands: ['/home'] } },
      { channel: 'telegram', brain: 'open', when: { commands: ['/ask'] } },
      { channel: 'telegram', brain: 'home' },
      { channel: 'second', brain: 'open' },
    ],
    storage: { path: 'svc.db' },
    session: {},
  });
  const user = telegram.person('Ann');
  const env = {
    TELEGRAM_TOKEN: telegram.token,
    SECOND_TOKEN: token,
    CLOUD_KEY: 'a-key-of-the-tests',
  };
  const own = parts.move();
  return {
    telegram,
    second,
    user,
    ann: telegram.privateChat(user),
    local,
    cloud,
    fails,
    start: () => startServe(file, env),
    sentAway: () => cloud.calls.map(({ text }) => text).join('\n'),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('what went to the private brain is never shown to the model of the public one', async () => {
  await using it = await stage();
  await using program = it.start();
  const say = async (text: string, n: number) => {
    it.telegram.say(it.ann, text);
    return (await it.telegram.waitForSent(n)).at(-1)!.text;
  };
  assert.equal(await say(secret, 1), secret);
  assert.equal(await say('/ask what is the weather?', 2), 'from elsewhere');
  assert.equal(await say('and at home?', 3), 'and at home?');
  assert.match(it.local.calls.at(-1)!.text, /4711.*the weather.*from elsewhere/s);
  assert.equal(await say('/ask and tomorrow?', 4), 'from elsewhere');
  assert.match(it.cloud.calls.at(-1)!.text, /what is the weather\?.*and tomorrow\?/s);
  assert.doesNotMatch(it.sentAway(), /4711|at home|\/ask/);
  assert.equal(await program.stop(), 0);
});

test('a public turn that failed is asked again of the public brain', async () => {
  await using it = await stage();
  await using program = it.start();
  it.fails.on = true;
  it.telegram.say(it.ann, '/ask what is the weather?');
  const [sorry] = await it.telegram.waitForSent(1);
  it.fails.on = false;
  it.telegram.press(it.user, sorry!.message, 'Try again');
  assert.equal((await it.telegram.waitForSent(2)).at(-1)!.text, 'from elsewhere');
  assert.deepEqual(it.local.calls, []);
  it.telegram.say(it.ann, '/ask and tomorrow?');
  await it.telegram.waitForSent(3);
  assert.match(it.cloud.calls.at(-1)!.text, /the weather\?.*from elsewhere/s, 'it is public still');
  assert.equal(await program.stop(), 0);
});

test('what is forwarded with a question to the public brain keeps its label', async () => {
  await using it = await stage();
  await using program = it.start();
  const { telegram, ann, user } = it;
  const forms = [secret, `/home ${secret}`, `/new ${secret}`, `/new /home ${secret}`];
  for (const [at, said] of forms.entries()) {
    telegram.say(ann, said);
    assert.match((await telegram.waitForSent(3 * at + 1)).at(-1)!.text, /4711/);
    telegram.say(ann, '/ask what is this?');
    const origin = { type: 'user', sender_user: user, date: 1_700_000_000 };
    telegram.say(ann, said, { fields: { forward_origin: origin } });
    await telegram.waitForSent(3 * at + 3);
    assert.doesNotMatch(it.sentAway(), /4711/, said);
  }
  assert.equal(await program.stop(), 0);
});

test('an answer of svc from another chat, or bot, goes to no public brain here', async () => {
  await using it = await stage();
  await using program = it.start();
  const { telegram } = it;
  telegram.say(it.ann, secret);
  await telegram.waitForSent(1);
  const bob = telegram.privateChat(telegram.person('Bob'));
  telegram.say(bob, '/ask what is this?');
  const origin = { type: 'user', sender_user: telegram.bot, date: 1_700_000_000 };
  telegram.say(bob, secret, { fields: { forward_origin: origin } });
  assert.match((await telegram.waitForSent(3)).at(-1)!.text, /^Sorry, I have no answer/);
  const there = it.second.privateChat(it.second.person('Bob'));
  it.second.say(there, secret, { fields: { forward_origin: origin } });
  assert.match((await it.second.waitForSent(1)).at(-1)!.text, /^Sorry, I have no answer/);
  assert.doesNotMatch(it.sentAway(), /4711/);
  assert.equal(await program.stop(), 0);
});
