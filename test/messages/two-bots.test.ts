/**
 * Two bots of one platform in one process share nothing: each has its own people, state, menu, rate
 * limits and health. The fakes give people, chats and messages the same ids on Telegram.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch, writeConfig } from '../support/program.ts';

const names = ['one', 'two'] as const;
/** Two tokens, each with the id of another bot. */
const tokens = {
  telegram: [
    '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0',
    '220402543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1',
  ],
  discord: [
    'MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs',
    'MTk4NjIyNDgzNDcxOTI1MjQ5.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWt',
  ],
} as const;

type Platform = keyof typeof tokens;

/** A service with two bots of one platform; the brain of each answers with the bot's name. */
async function stage<Fake extends { readonly url: string } & AsyncDisposable>(
  type: Platform,
  startFake: (token: string) => Promise<Fake>,
  more: object = {},
) {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await scratch());
  const fakes = [
    made.use(await startFake(tokens[type][0])),
    made.use(await startFake(tokens[type][1])),
  ] as const;
  const scriptOf =
    (name: string) =>
    (call: ModelCall): Step => ({ answer: `${name}: ${lastOf(call).content}` });
  const models = await Promise.all(
    names.map(async (name) => made.use(await startFakeOllama(scriptOf(name)))),
  );
  const adminPort = await freePort();
  const mode = type === 'telegram' ? 'polling' : 'gateway';
  const file = await writeConfig(folder, {
    channels: names.map((name, at) => {
      const token_env = `TOKEN_${name.toUpperCase()}`;
      return { name, type, mode, token_env, base_url: fakes[at]!.url, streaming: false, ...more };
    }),
    brains: names.map((name, at) => {
      const model = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
      const models_ = [{ ...model, base_url: models[at]!.url }];
      return { name, sensitivity: 'private', policy: { kind: 'priority' }, models: models_ };
    }),
    routes: names.flatMap((name) => [
      {
        channel: name,
        brain: name,
        when: { commands: [`/of_${name}`] },
        description: `Ask ${name}, please`,
      },
      { channel: name, brain: name },
    ]),
    observability: { addr: `127.0.0.1:${adminPort}` },
    storage: { path: 'svc.db' },
  });
  const env = { TOKEN_ONE: tokens[type][0], TOKEN_TWO: tokens[type][1] };
  const own = made.move();
  return {
    fakes,
    adminPort,
    start: () => startServe(file, env),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('two Telegram bots answer one person in one chat, each by its own brain', async () => {
  await using it = await stage('telegram', (token) => startFakeTelegram({ secondMs: 20, token }));
  const chats = it.fakes.map((fake) => fake.privateChat(fake.person('Ann')));
  const groups = it.fakes.map((fake) => fake.supergroup('Team'));
  assert.deepEqual(chats[0], chats[1], 'the ids are the same');
  await using program = it.start();
  for (const [at, fake] of it.fakes.entries()) {
    fake.say(chats[at]!, 'hello');
    fake.say(groups[at]!, '@svc_test_bot hello');
  }
  for (const [at, fake] of it.fakes.entries()) {
    const sent = await fake.waitForSent(2);
    const texts = sent.map(({ text }) => text).sort();
    assert.match(
      texts.join(' | '),
      new RegExp(`^${names[at]}: .*hello \\| ${names[at]}: .*hello$`),
    );
    const own = `of_${names[at]}`;
    await fake.until(
      () => fake.commands.list.some(({ command }) => command === own) || undefined,
      own,
    );
    const others = fake.commands.list.filter(
      ({ command }) => command.startsWith('of_') && command !== own,
    );
    assert.deepEqual(others, []);
    const reacted = await fake.until(() => fake.reactions[0], 'eyes in the group');
    assert.equal(reacted.chatId, groups[at]!.id);
  }
  assert.equal(await program.stop(), 0, program.log());
});

test('a limit, a refused token or an outage of one bot does not touch the other', async () => {
  await using it = await stage('telegram', (token) => startFakeTelegram({ secondMs: 20, token }));
  const [first, second] = it.fakes;
  const chats = it.fakes.map((fake) => fake.privateChat(fake.person('Ann')));
  await using program = it.start();
  await program.saw('one is up');
  await program.saw('two is up');
  first.fail('sendMessage', { kind: 'rate-limit', retryAfterSeconds: 3_600 });
  first.say(chats[0]!, 'limited');
  await first.waitForCall('sendMessage');
  second.say(chats[1]!, 'free');
  await second.waitForSent(1);
  first.revokeToken();
  await program.saw('one is failed');
  second.say(chats[1]!, 'still free');
  await second.waitForSent(2);
  assert.deepEqual([first.sent.length, second.sent.length], [0, 2]);
  await program.stop();
});

test('two Discord bots have their own sessions, menus and replies', async () => {
  await using it = await stage('discord', (token) => startFakeDiscord({ identifyGapMs: 0, token }));
  const [first, second] = it.fakes;
  await using program = it.start();
  for (const [at, fake] of it.fakes.entries()) {
    await fake.waitForReady();
    const kitchen = fake.textChannel(fake.guild('House'), 'kitchen');
    fake.say(fake.thread(kitchen, 'soup'), `<@${fake.bot.id}> hello`);
    const [sent] = await fake.waitForSent(1);
    assert.match(sent!.content, new RegExp(`^${names[at]}: .*hello$`));
    const own = `of_${names[at]}`;
    await fake.until(() => fake.slash.registered.find(({ name }) => name === own), own);
    const others = fake.slash.registered.filter(
      ({ name }) => name.startsWith('of_') && name !== own,
    );
    assert.deepEqual(others, []);
    fake.choose(fake.user('Bo'), kitchen, own, 'fix it');
    const response = await fake.until(
      () => fake.slash.chosen[0]?.original?.content || undefined,
      'a response',
    );
    assert.match(response, new RegExp(`^${names[at]}: .*fix it$`));
    assert.ok(!response.includes(own), 'the model is not shown the command');
  }
  first.fail('POST /channels/:id/messages', {
    kind: 'rate-limit',
    retryAfterSeconds: 3_600,
    scope: 'global',
  });
  first.say(first.direct(first.user('Ann')), 'limited');
  const limited = () => first.calls.some(({ isSpoiled }) => isSpoiled) || undefined;
  await first.until(limited, 'the limit');
  second.say(second.direct(second.user('Ann')), 'free');
  await second.waitForSent(2);
  assert.equal(first.sent.length, 1);
  await program.stop();
});
