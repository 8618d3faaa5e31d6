/** Two bots of one platform, and two webhooks at one address: each is a channel of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, lastOf } from '../agents/stage.ts';
import type { Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { startFakeTelegram, type FakeTelegram } from '../fake/telegram.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, post, scratch, secret, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const adminToken = 'an-admin-token-of-the-bots';
const intakeSecret = 'the-secret-of-the-intake';
const tokens = [
  '71001:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1',
  '71002:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw2',
];
const thirdToken = '71003:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw3';

/** Answers with the id of the model that was asked, and the question. */
const tells: Script = (call) => {
  const { model } = bodyOf(call) as unknown as { readonly model: string };
  return { answer: `${model}: ${lastOf(call).content}` };
};

async function openStage() {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await scratch());
  const model = made.use(await startFakeOllama(tells));
  const bots: FakeTelegram[] = [];
  for (const token of [...tokens, thirdToken]) {
    bots.push(made.use(await startFakeTelegram({ token, secondMs: 20 })));
  }
  const receivers = [made.use(await startReceiver()), made.use(await startReceiver())] as const;
  const [port, adminPort] = [await freePort(), await freePort()];
  const bot = (at: number, own: object) => {
    const more = { token_env: `TOKEN_${at}`, base_url: bots[at]!.url, streaming: false, ...own };
    return { type: 'telegram', mode: 'polling', access: { pairing: true }, ...more };
  };
  const hook = (at: 0 | 1, own: object, path: object) => {
    const webhook = { bind: `127.0.0.1:${port}`, outbound_url: receivers[at].url, ...path };
    return { type: 'webhook', webhook, ...own };
  };
  const brain = (name: string) => ({
    name,
    sensitivity: 'public',
    policy: { kind: 'priority' },
    models: [{ provider: 'local_runtime', model_id: name, locality: 'local', base_url: model.url }],
  });
  const write = (...more: object[]) => {
    const channels = [
      bot(0, {}),
      bot(1, { name: 'support' }),
      hook(0, { token_env: 'WEBHOOK_SECRET' }, {}),
      hook(1, { name: 'intake', token_env: 'INTAKE_SECRET' }, { path: '/intake' }),
      ...more,
    ];
    const names = channels.map((one) =>
      'name' in one ? String(one.name) : 'type' in one ? String(one.type) : '',
    );
    return writeConfig(folder, {
      channels,
      brains: names.map((name) => brain(`of_${name}`)),
      routes: names.map((name) => ({ channel: name, brain: `of_${name}` })),
      storage: { path: 'svc.db' },
      admin: { token_env: 'BOTS_ADMIN' },
      observability: { addr: `127.0.0.1:${adminPort}` },
    });
  };
  const env = {
    TOKEN_0: tokens[0],
    TOKEN_1: tokens[1],
    TOKEN_2: thirdToken,
    WEBHOOK_SECRET: secret,
    INTAKE_SECRET: intakeSecret,
    BOTS_ADMIN: adminToken,
    NO_COLOR: '1',
  };
  const file = await write();
  const own = made.move();
  return {
    bots: bots as [FakeTelegram, FakeTelegram, FakeTelegram],
    receivers,
    write,
    third: () => write(bot(2, { name: 'sales' })),
    start: (changed: object = {}) => startServe(file, { ...env, ...changed }),
    svc: (line: string) => runCommand(line.split(' '), { cwd: folder, env }),
    say: (path: string, text: string, bearer = secret) =>
      post(
        `http://127.0.0.1:${port}${path}`,
        { sender_id: 'ada', text },
        { authorization: `Bearer ${bearer}` },
      ),
    metrics: async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text(),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** A person on one bot's platform. */
function personOn(bot: FakeTelegram, id = 600_000_001) {
  const chat = bot.privateChat(bot.person('Ann', { id }));
  return async (text: string): Promise<string> => {
    const before = bot.sent.length;
    bot.say(chat, text);
    return (await bot.waitForSent(before + 1)).at(before)!.text;
  };
}

const codeIn = (text: string): string => /: ([A-Z0-9]{8})\./.exec(text)![1]!;

test('two bots and two webhooks have each their own people and brain', async () => {
  await using it = await openStage();
  const [one, two] = it.bots;
  await using program = it.start();
  await program.saw('"listening"');
  const [onOne, onTwo] = [personOn(one), personOn(two)];

  const [first, second] = [codeIn(await onOne('let me in')), codeIn(await onTwo('let me in'))];
  const paired = await it.svc(`pair ${second}`);
  assert.match(paired.out, /^Ann \(600000001\) may talk on support from now on\.\n$/, paired.err);
  await two.waitForSent(2);
  assert.equal(await onTwo('hello'), 'of_support: hello');
  assert.match((await it.svc('pair --list')).out, /messenger_a +600000001 +Ann +has a code until/);
  assert.match((await it.svc(`pair ${first}`)).out, /may talk on messenger_a from now on/);
  await one.waitForSent(2);
  assert.equal(await onOne('hello'), 'of_telegram: hello');
  const removed = await it.svc('pair --remove 600000001 --channel support');
  assert.equal(removed.out, '600000001 is a stranger on support again.\n');
  assert.equal(await onOne('still here'), 'of_telegram: still here');

  assert.equal((await it.say('/webhook', 'one')).status, 200);
  assert.equal((await it.say('/intake', 'two', intakeSecret)).status, 200);
  const [ofWebhook, ofIntake] = it.receivers;
  assert.equal((await ofWebhook.waitFor(1))[0]!.body['text'], 'of_webhook: one');
  assert.equal((await ofIntake.waitFor(1))[0]!.body['text'], 'of_intake: two');
  assert.deepEqual(
    [(await it.say('/intake', 'x')).status, (await it.say('/webhook', 'x', intakeSecret)).status],
    [401, 401],
  );
  assert.equal((await it.say('/other', 'x')).status, 404);

  const page = await it.metrics();
  const accepted = (channel: string) =>
    Number(
      new RegExp(`^svc_messages_accepted_total\\{channel="${channel}"\\} (\\d+)$`, 'm').exec(
        page,
      )![1],
    );
  assert.deepEqual(['webhook', 'intake'].map(accepted), [1, 1]);
  assert.ok(accepted('support') > 0 && accepted('messenger_a') > 0);
  assert.match(page, /^svc_channel_state\{channel="support",state="up"\} 1$/m);
  const { out } = await it.svc('status');
  for (const line of [
    'Telegram → of_telegram: up',
    'support → of_support: up',
    'intake → of_intake: up',
  ])
    assert.ok(out.includes(line), out);
});

test('commands find each of several channels by its name', async () => {
  await using it = await openStage();
  await using program = it.start();
  await program.saw('"listening"');
  const [, ofIntake] = it.receivers;
  const unsaid = await it.svc('send hello');
  assert.equal(unsaid.code, 2);
  assert.match(unsaid.err, /several webhooks: choose one with --channel \(webhook, intake\)/);
  assert.match((await it.svc('send hello --channel support')).err, /"support" is none; there are/);
  const sent = await it.svc('send hello --channel intake --as ada');
  assert.deepEqual([sent.code, sent.out], [0, 'of_intake: hello\n'], sent.err);
  await ofIntake.waitFor(1);
  assert.equal((await it.say('/webhook', 'one')).status, 200);
  const listed = async (channel: string) => {
    const { out, err } = await it.svc(`messages --json --channel ${channel}`);
    const { rows } = JSON.parse(out === '' ? '{"rows":[]}' : out) as {
      rows: { channel: string }[];
    };
    return err === '' ? rows.map((row) => row.channel) : err;
  };
  assert.deepEqual(await listed('intake'), ['intake@webhook']);
  assert.deepEqual(await listed('webhook'), ['webhook']);
  assert.deepEqual(await listed('support:71002'), []);
  assert.match(
    String(await listed('slack')),
    /is one of .*webhook, completions, support, intake, or a bot/,
  );
});

test('a bot whose token is refused leaves the other channels as they are', async () => {
  await using it = await openStage();
  const [one, two] = it.bots;
  two.revokeToken();
  await using program = it.start();
  await program.saw('"listening"');
  assert.match(await personOn(one)('let me in'), /: [A-Z0-9]{8}\./);
  assert.equal((await it.say('/intake', 'two', intakeSecret)).status, 200);
  await until('it failed', async () =>
    (await it.svc('status')).out.includes('support → of_support: failed'),
  );
  assert.match((await it.svc('status')).out, /Telegram → of_telegram: up/);
  assert.match(program.log(), /"channel":"support"/);
});

test('a bot that a reload adds leaves the connections of the others open', async () => {
  await using it = await openStage();
  const [one, two, three] = it.bots;
  await using program = it.start();
  await program.saw('"listening"');
  for (const bot of [one, two]) codeIn(await personOn(bot)('let me in'));
  const counted = () => [one, two].map((bot) => bot.callsOf('getMe').length);
  const before = counted();
  await it.third();
  program.hangUp();
  assert.match(await personOn(three)('let me in'), /: [A-Z0-9]{8}\./);
  assert.equal((await it.say('/webhook', 'one')).status, 200);
  assert.equal((await it.say('/intake', 'two', intakeSecret)).status, 200);
  assert.equal(three.callsOf('getMe').length, 1, 'a connection begins with it');
  assert.match((await it.svc('status')).out, /sales → of_sales: up/);

  await it.write();
  program.hangUp();
  await until('it left', async () => !(await it.svc('status')).out.includes('sales →'));
  for (const bot of [one, two]) codeIn(await personOn(bot, 600_000_002)('let me in'));
  assert.deepEqual(counted(), before);
});
