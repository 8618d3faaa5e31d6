/** Narrowed access applies to the next message, even on an older connection. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { AccessConfig } from '../../src/config/config.ts';
import { lastOf } from '../agents/stage.ts';
import { adminToken, askAdmin, startConfigured } from '../config/program.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { answersOf, post, type Answer } from '../fake/webhook.ts';
import { echo, openHouse, openMemory, runningConfigOf } from '../messages/messenger-house.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch, secret, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const paired: AccessConfig = { allow: ['1'], groups: 'mention', pairing: true };
const turnedAway = { kind: 'accepted', receipts: [null] };

for (const [what, after] of [
  ['a smaller list', { ...paired, allow: [] }],
  ['a smaller list without pairing', { ...paired, allow: ['2'], pairing: false }],
] as const) {
  test(`a message that was read and not accepted is refused by ${what}`, async () => {
    const clock = { now: Date.now() };
    const ledger = openMemory(clock);
    const [asked, known] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const cursor = ledger.cursor.bind(ledger);
    ledger.cursor = async (channel, name) => {
      if (name === 'pairing') {
        asked.resolve();
        await known.promise;
      }
      return cursor(channel, name);
    };
    const { host, messenger } = openHouse(ledger, clock);
    await host.use(runningConfigOf(messenger.bot('77:a'), echo('before'), paired));
    const handled = messenger.say('1', 'let me through');
    await asked.promise;
    await host.use(runningConfigOf(messenger.bot('77:a'), echo('after'), after));
    known.resolve();
    // With pairing the stranger gets a code.
    if (!after.pairing) assert.deepEqual(await handled, turnedAway);
    assert.equal((await handled).kind, 'accepted');
    assert.equal((await host.drain()).rows, 0);
    assert.ok(messenger.delivered.every(({ text }) => !text.includes('let me through')));
  });
}

type Chat = {
  /** svc's id of the sender. */
  readonly id: string;
  say(text: string): void;
};

type Platform = AsyncDisposable & {
  readonly type: 'telegram' | 'discord';
  readonly contract: 'messenger_a' | 'messenger_b';
  readonly url: string;
  readonly token: string;
  chat(name: string): Chat;
  /** The texts of all messages sent. */
  texts(): readonly string[];
};

async function telegram(): Promise<Platform> {
  const fake = await startFakeTelegram({ secondMs: 20 });
  return {
    type: 'telegram',
    contract: 'messenger_a',
    url: fake.url,
    token: fake.token,
    chat(name) {
      const person = fake.person(name);
      const chat = fake.privateChat(person);
      return { id: String(person.id), say: (text) => void fake.say(chat, text) };
    },
    texts: () => fake.sent.map(({ text }) => text),
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}

async function discord(): Promise<Platform> {
  const fake = await startFakeDiscord({ identifyGapMs: 0 });
  return {
    type: 'discord',
    contract: 'messenger_b',
    url: fake.url,
    token: fake.token,
    chat(name) {
      const user = fake.user(name);
      const chat = fake.direct(user);
      return { id: user.id, say: (text) => void fake.say(chat, text) };
    },
    texts: () => fake.sent.map(({ content }) => content),
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}

/** A service on a messenger where Ann and Ben may talk. The model waits for the test. */
async function stage(platform: Platform, access: (ids: readonly string[]) => object) {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await scratch());
  made.use(platform);
  const answers = Promise.withResolvers<void>();
  const model = made.use(
    await startFakeOllama((call) => ({
      answer: `heard ${lastOf(call).content}`,
      after: answers.promise,
    })),
  );
  const [ann, ben] = [platform.chat('Ann'), platform.chat('Ben')];
  const adminPort = await freePort();
  const models = [
    { provider: 'local_runtime', model_id: 'm', locality: 'local', base_url: model.url },
  ];
  const documentOf = (rules: object): object => ({
    channels: [
      {
        type: platform.type,
        mode: platform.type === 'telegram' ? 'polling' : 'gateway',
        token_env: 'BOT_TOKEN',
        base_url: platform.url,
        streaming: false,
        access: rules,
      },
    ],
    brains: [{ name: 'b', sensitivity: 'private', policy: { kind: 'priority' }, models }],
    routes: [{ channel: platform.type, brain: 'b' }],
    observability: { addr: `127.0.0.1:${adminPort}` },
    admin: { token_env: 'ADMIN_TOKEN' },
    storage: { path: 'svc.db' },
  });
  const file = await writeConfig(folder, documentOf(access([ann.id, ben.id])) as never);
  const env = { BOT_TOKEN: platform.token, ADMIN_TOKEN: adminToken };
  const service = made.use(startServe(file, env));
  await service.saw(`${platform.contract} is up`);
  const ask = (path: string, method = 'GET', body?: object) =>
    askAdmin(adminPort, path, { method, ...(body && { body: JSON.stringify(body) }) });
  const own = made.move();
  return {
    ann,
    ben,
    model,
    answers,
    texts: () => platform.texts(),
    async apply(rules: object): Promise<void> {
      const ifMatch = (await ask('config')).etag!;
      const body = JSON.stringify(documentOf(rules));
      const told = await askAdmin(adminPort, 'config', { method: 'PUT', body, ifMatch });
      assert.equal(told.status, 200, JSON.stringify(told.body));
    },
    pair: async (code: string) => {
      assert.equal((await ask(`pairings/${code}`, 'POST')).status, 200);
    },
    unpair: async (id: string) => {
      const told = await ask(`pairings/${platform.contract}/${id}`, 'DELETE');
      assert.ok(told.status < 300, JSON.stringify(told));
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

for (const open of [telegram, discord]) {
  test(`on ${open.name} a smaller list binds the next message, and no earlier one`, async () => {
    await using it = await stage(await open(), (allow) => ({ allow }));
    it.ann.say('before');
    await until('the question', () => it.model.calls.length === 1);
    await it.apply({ allow: [it.ben.id] });
    it.ann.say('after');
    it.ben.say('behind it');
    it.answers.resolve();
    await until('two answers', () => it.texts().length === 2);
    assert.deepEqual(it.texts().toSorted(), ['heard before', 'heard behind it']);
    assert.equal(it.model.calls.length, 2);
  });

  test(`on ${open.name} a removed pairing binds the next message, and no earlier one`, async () => {
    await using it = await stage(await open(), ([, ben]) => ({ allow: [ben], pairing: true }));
    it.ann.say('let me in');
    await until('a code', () => it.texts().length === 1);
    await it.pair(/: ([A-Z0-9]{8})\./.exec(it.texts()[0]!)![1]!);
    await until('a welcome', () => it.texts().length === 2);
    it.ann.say('before');
    await until('the question', () => it.model.calls.length === 1);
    await it.unpair(it.ann.id);
    it.ann.say('after');
    it.ben.say('behind it');
    it.answers.resolve();
    await until('two answers', () => it.texts().length === 4);
    assert.deepEqual(it.texts().slice(2).toSorted(), ['heard before', 'heard behind it']);
    assert.equal(it.model.calls.length, 2);
  });
}

/** A connection that stays open, and its answers. */
function openLine(port: number) {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
  const answers = (): readonly Answer[] =>
    text.endsWith('}') ? answersOf(text.replaceAll(goOn, '')) : [];
  return {
    write: (bytes: string) => void socket.write(bytes),
    /** Resolves when the service has read the head, and waits for the body. */
    asked: () => until('100 Continue', () => text.includes(goOn)),
    async status(): Promise<number> {
      const [answer] = await until('an answer', () => (answers().length > 0 ? answers() : null));
      text = '';
      return answer!.status;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

test('another secret binds the next message, and one whose body is on its way', async () => {
  const next = 'the-webhook-secret-after-it';
  await using it = await startConfigured({}, { NEXT_SECRET: next });
  const [line, slow] = [openLine(it.port), openLine(it.port)];
  using _line = line;
  using _slow = slow;
  const answers = Promise.withResolvers<void>();
  await it.model.script({ answer: 'here you are', after: answers.promise });
  const message = (text: string, token: string, more: Record<string, string> = {}): string => {
    const kept = { connection: 'keep-alive', authorization: `Bearer ${token}`, ...more };
    return post(JSON.stringify({ sender_id: 'ada', text }), kept);
  };
  line.write(message('before', secret));
  assert.equal(await line.status(), 200);
  await it.model.call(0);
  const [head, body] = message('on its way', secret, { expect: '100-continue' }).split('\r\n\r\n');
  slow.write(`${head}\r\n\r\n`);
  await slow.asked();

  const [channel] = it.first.channels;
  const changed = { ...it.first, channels: [{ ...channel, token_env: 'NEXT_SECRET' }] };
  assert.equal((await it.put(changed)).status, 200);
  slow.write(body!);
  assert.equal(await slow.status(), 401);
  line.write(message('with the new one', next));
  assert.equal(await line.status(), 200, 'the connection is as good as before');
  line.write(message('with the old one', secret));
  assert.equal(await line.status(), 401);

  answers.resolve();
  await it.receiver.waitFor(2);
  await until('the questions', () => it.model.calls.length === 2);
  const asked = it.model.calls.map((call) => lastOf(call).content);
  assert.deepEqual(asked, ['before', 'with the new one']);
});

test('what is on its way is accepted where the secret stays', async () => {
  await using it = await startConfigured();
  using slow = openLine(it.port);
  const text = post('{"sender_id":"ada","text":"on its way"}', {
    connection: 'keep-alive',
    authorization: `Bearer ${secret}`,
    expect: '100-continue',
  });
  const [head, body] = text.split('\r\n\r\n');
  slow.write(`${head}\r\n\r\n`);
  await slow.asked();
  assert.equal((await it.put(it.withOther())).status, 200);
  slow.write(body!);
  assert.equal(await slow.status(), 200);
  const [reply] = await it.receiver.waitFor(1);
  assert.equal(reply?.body['text'], 'of second');
});
