/** Slash commands on a fake Discord, from people's choices to the responses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch, startProgram, writeConfig } from '../support/program.ts';

/** The description of a command that is not offered here. */
const ownDescription = 'See which tools there are here, and their last uses';
const adminToken = 'an-admin-token-of-the-commands';

/** The last command that svc registers. */
const isLast = ({ name }: { readonly name: string }): boolean => name === 'help';

async function stage() {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const clock = { aheadMs: 0 };
  const startedAt = Date.now();
  // The clock stands, so that a slow answer to a press comes in time.
  const now = (): number => startedAt + clock.aheadMs;
  const discord = own.use(await startFakeDiscord({ identifyGapMs: 0, now }));
  /** The model's answers wait for it. */
  const held: { until: Promise<void> | null } = { until: null };
  const script = (call: ModelCall): Step => {
    const answer = `heard: ${lastOf(call).content}`;
    return held.until === null ? { answer } : { answer, after: held.until };
  };
  const model = own.use(await startFakeOllama(script));
  const adminPort = await freePort();
  const models = [
    { provider: 'local_runtime', model_id: 'm', locality: 'local', base_url: model.url },
  ];
  const file = await writeConfig(folder, {
    channels: [
      { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN', base_url: discord.url },
    ],
    brains: [{ name: 'b', sensitivity: 'private', policy: { kind: 'priority' }, models }],
    routes: [{ channel: 'discord', brain: 'b' }],
    observability: { addr: `127.0.0.1:${adminPort}` },
    admin: { token_env: 'CMD_ADMIN' },
    storage: { path: 'svc.db' },
    session: { triggers: ['/new'], recall_max: 3 },
  });
  const ann = discord.user('Ann');
  const env = { DISCORD_TOKEN: discord.token, CMD_ADMIN: adminToken };
  return {
    discord,
    model,
    clock,
    held,
    ann,
    chat: discord.direct(ann),
    /** In a separate process, which a test can kill. */
    spawn: () => startProgram(['serve', '--config', file], env),
    start: async () => {
      const program = startServe(file, env);
      await program.saw('messenger_b is up');
      const isThere = () => discord.slash.registered.some(isLast) || undefined;
      await discord.until(isThere, 'the commands');
      return program;
    },
    /** The text of the n-th response, from 0, once there is one. */
    response: (n: number) =>
      discord.until(() => discord.slash.chosen[n]?.original?.content || undefined, 'a response'),
    tell: async (path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${adminToken}` };
      return (await fetch(`http://127.0.0.1:${adminPort}${path}`, { headers })).text();
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('commands are registered once, beside those of others', async () => {
  await using it = await stage();
  const { slash } = it.discord;
  const place = { type: 3, name: 'place', description: 'Where' };
  slash.registered = [
    { id: '7', type: 1, name: 'weather', description: 'Of another program', options: [place] },
    { id: '8', type: 1, name: 'help', description: 'What this bot is for' },
    { id: '9', type: 1, name: 'tools', description: ownDescription },
  ];
  const making = 'POST /applications/:id/commands';
  const posts = (): number => it.discord.calls.filter(({ route }) => route === making).length;
  {
    await using program = await it.start();
    await it.discord.until(() => posts() === 3 || undefined, 'the registration');
    const shown = () => slash.registered.map(({ name, options }) => [name, options?.length ?? 0]);
    const expected = [
      ['weather', 1],
      ['help', 0],
      ['new', 1],
      ['recall', 1],
      ['retry', 0],
    ];
    await it.discord.until(() => shown().length === 5 || undefined, 'the last of them');
    assert.deepEqual(shown(), expected);
    assert.equal(slash.registered[1]!.description, 'What this bot is for');
    assert.equal(await program.stop(), 0);
  }
  await using program = await it.start();
  const looked = (): true | undefined =>
    it.discord.calls.filter(({ route }) => route === 'GET /applications/:id/commands').length === 2
      ? true
      : undefined;
  await it.discord.until(looked, 'a look');
  it.discord.say(it.chat, 'hello');
  await it.discord.waitForSent(1);
  assert.equal(posts(), 3);
  assert.equal(await program.stop(), 0);
});

test('what is chosen is as if it had been written, and the response is completed', async () => {
  await using it = await stage();
  await using program = await it.start();
  const general = it.discord.textChannel(it.discord.guild('Team'), 'general');
  it.discord.choose(it.ann, it.chat, 'help');
  assert.match(await it.response(0), /^You can write:\n\/new: /);
  it.discord.choose(it.ann, general, 'new', 'what is x?');
  assert.equal(await it.response(1), 'heard: Ann: what is x?');
  it.discord.choose(it.ann, general, 'new');
  assert.match(await it.response(2), /^A new session begins\./);
  assert.equal(it.discord.sent.length, 0, 'no message besides');
  const edit = it.discord.calls.find(({ method }) => method === 'PATCH');
  const { allowed_mentions } = edit!.body as { allowed_mentions: unknown };
  assert.deepEqual(allowed_mentions, { parse: [], replied_user: false });
  const { token } = it.discord.slash.chosen[1]!;
  const { rows } = JSON.parse(await it.tell('/api/v1/messages')) as { rows: { id: string }[] };
  const paths = rows.flatMap(({ id }) => [`/api/v1/messages/${id}`, `/api/v1/messages/${id}/text`]);
  const told = await Promise.all(['/api/v1/messages', '/metrics', ...paths].map(it.tell));
  assert.ok(rows.length >= 3);
  for (const text of [...told, program.log()]) assert.ok(!text.includes(token), text);
  assert.equal(await program.stop(), 0);
});

test('no reply grows beside a response that was put off', async () => {
  await using it = await stage();
  await using program = await it.start();
  const gate = Promise.withResolvers<void>();
  const between = (): Promise<void> => gate.promise;
  await it.model.script({
    answer: 'a beginning of more than forty characters, and its end',
    between,
  });
  it.discord.choose(it.ann, it.chat, 'new', 'why?');
  await it.model.call(0);
  const bob = it.discord.user('Bob');
  it.discord.say(it.discord.direct(bob), 'why?', { author: bob });
  // The reply to Bob's message grows, and it began later.
  await it.discord.waitForSent(1);
  gate.resolve();
  assert.match(await it.response(0), /its end$/);
  assert.equal(it.discord.sent.length, 1, 'the beginning of the other reply');
  assert.equal(await program.stop(), 0);
});

test('a response that waits outlives the process', async () => {
  await using it = await stage();
  const never = Promise.withResolvers<void>();
  it.held.until = never.promise;
  await using killed = it.spawn();
  await it.discord.until(() => it.discord.slash.registered.some(isLast) || undefined, 'commands');
  await it.discord.waitForReady();
  it.discord.choose(it.ann, it.chat, 'new', 'slow');
  await it.model.call(0);
  await it.discord.until(() => it.discord.slash.chosen[0]?.original ?? undefined, 'put off');
  killed.child.kill('SIGKILL');
  await killed.ended;
  it.held.until = null;
  await using program = await it.start();
  assert.equal(await it.response(0), 'heard: slow');
  assert.equal(it.discord.sent.length, 0);
  assert.equal(await program.stop(), 0);
  never.resolve();
});

test('where the time for a response is over, the reply is a message', async () => {
  await using it = await stage();
  const { promise, resolve } = Promise.withResolvers<void>();
  it.held.until = promise;
  await using program = await it.start();
  it.discord.choose(it.ann, it.chat, 'new', 'slow');
  await it.model.call(0);
  await it.discord.until(() => it.discord.slash.chosen[0]?.original ?? undefined, 'put off');
  it.clock.aheadMs = 16 * 60_000;
  resolve();
  const [sent] = await it.discord.waitForSent(1);
  assert.equal(sent!.content, 'heard: slow');
  assert.equal(await program.stop(), 0);
});

test('what is said to it in a server gets eyes, and nothing else does', async () => {
  await using it = await stage();
  await using program = await it.start();
  const general = it.discord.textChannel(it.discord.guild('Team'), 'general');
  it.discord.say(general, 'chatter', { author: it.ann });
  const said = it.discord.say(general, `<@${it.discord.bot.id}> hello`, { author: it.ann });
  const [sent] = await it.discord.waitForSent(1);
  assert.equal(sent!.content, 'heard: Ann: hello');
  it.discord.say(it.chat, 'hello');
  await it.discord.waitForSent(2);
  const seen = () => (it.discord.reactions.length > 0 ? it.discord.reactions : undefined);
  assert.deepEqual(await it.discord.until(seen, 'a reaction'), [
    { messageId: said.id, emoji: '👀' },
  ]);
  assert.equal(await program.stop(), 0);
});
