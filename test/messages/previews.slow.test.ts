/** A reply shown while the model writes it, on the whole program and both messengers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeDiscord } from '../fake/discord.ts';
import type { Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startServe } from '../support/in-process.ts';
import { scratch, writeConfig } from '../support/program.ts';
import { openTelegram } from '../telegram/program.ts';

const words = 'one two three four';

/** A model that continues its answer when the test lets it. */
function heldAnswer() {
  const gates = new Map<number, PromiseWithResolvers<void>>();
  const gate = (piece: number): PromiseWithResolvers<void> => {
    const known = gates.get(piece) ?? Promise.withResolvers<void>();
    gates.set(piece, known);
    return known;
  };
  return {
    script: { answer: words, between: (piece: number) => gate(piece).promise },
    /** Lets the pieces up to this number go, from 0. */
    let: (last: number) => {
      for (let piece = 0; piece <= last; piece++) gate(piece).resolve();
    },
    forget: () => gates.clear(),
  };
}

async function stage(
  channel: object = { streaming: true },
  draftsFor: 'everyone' | 'nobody' = 'nobody',
) {
  const held = heldAnswer();
  const more = { storage: { path: 'svc.db' } };
  const it = await openTelegram(held.script, { channel, more, draftsFor });
  const { telegram } = it;
  return {
    ...it,
    held,
    textOf() {
      const [first] = telegram.sent;
      return first === undefined ? undefined : telegram.shown(first.message)?.text;
    },
  };
}

test('Telegram: the reply grows by edits, and ends as the text of the ledger', async () => {
  await using it = await stage();
  await using _program = it.start();
  it.telegram.say(it.ann, 'count');
  await it.model.call(0);
  it.held.let(0);
  await it.telegram.until(() => (it.textOf() === 'one two …' ? true : undefined), 'a beginning');
  it.held.let(1);
  await it.telegram.until(() => (it.textOf() === 'one two three …' ? true : undefined), 'more');
  it.held.let(99);
  await it.telegram.until(() => (it.textOf() === words ? true : undefined), 'all of it');
  assert.equal(it.telegram.sent.length, 1, 'one message, from the first word to the last');
});

test('Telegram: a restart in the middle goes on with the same message', async () => {
  await using it = await stage();
  {
    await using _first = it.start();
    it.telegram.say(it.ann, 'count');
    await it.model.call(0);
    it.held.let(0);
    await it.telegram.until(() => it.textOf(), 'a beginning');
  }
  it.held.forget();
  it.held.let(99);
  await using _program = it.start();
  await it.telegram.until(() => (it.textOf() === words ? true : undefined), 'all of it');
  assert.equal(it.telegram.sent.length, 1, 'it is edited, not doubled');
});

test('Telegram: where it has drafts the reply grows as one, and ends as one message', async () => {
  await using it = await stage({ streaming: true }, 'everyone');
  await using _program = it.start();
  it.telegram.say(it.ann, 'count');
  await it.model.call(0);
  it.held.let(0);
  const draft = (): string | undefined => it.telegram.draftIn(it.ann)?.text;
  await it.telegram.until(() => (draft() === 'one two' ? true : undefined), 'a beginning');
  it.held.let(1);
  await it.telegram.until(() => (draft() === 'one two three' ? true : undefined), 'more');
  it.held.let(99);
  const [sent] = await it.telegram.waitForSent(1);
  assert.equal(sent!.text, words);
  assert.equal(draft(), undefined);
  assert.deepEqual(it.telegram.callsOf('editMessageText'), []);
});

test('Telegram: a kill in the middle of a draft leaves no message but the reply', async () => {
  await using it = await stage({ streaming: true }, 'everyone');
  {
    await using first = it.spawn();
    it.telegram.say(it.ann, 'count');
    await it.model.call(0);
    it.held.let(0);
    await it.telegram.until(() => it.telegram.draftIn(it.ann), 'a beginning');
    first.child.kill('SIGKILL');
    await first.ended;
  }
  it.held.forget();
  it.held.let(99);
  await using _program = it.start();
  const [sent] = await it.telegram.waitForSent(1);
  assert.equal(sent!.text, words);
  assert.deepEqual(it.telegram.callsOf('editMessageText'), []);
  assert.equal(new Set(it.telegram.drafts.map(({ id }) => id)).size, 1);
});

test('Telegram: what fails of a preview costs the reply nothing', async () => {
  await using it = await stage();
  await using _program = it.start();
  it.telegram.fail('editMessageText', { kind: 'refuse', answer: gone }, 99);
  it.telegram.say(it.ann, 'count');
  await it.model.call(0);
  it.held.let(0);
  await it.telegram.until(() => it.textOf(), 'a beginning');
  it.held.let(99);
  const sent = await it.telegram.waitForSent(2);
  assert.equal(sent[1]?.text, words, 'a message that cannot be edited is followed by a new one');
});

test('Telegram: nothing is shown before the reply to an earlier message has arrived', async () => {
  await using it = await stage();
  await using _program = it.start();
  it.telegram.fail('sendMessage', { kind: 'refuse', answer: { ...gone, error_code: 500 } });
  it.held.let(99);
  it.telegram.say(it.ann, 'first');
  await it.telegram.waitForCall('sendMessage');
  it.held.forget();
  it.telegram.say(it.ann, 'second');
  await it.model.call(1);
  it.held.let(0);
  const [first] = await it.telegram.waitForSent(1);
  assert.equal(first!.text, words, 'the reply that is tried again');
  it.held.let(99);
  const [, second] = await it.telegram.waitForSent(2);
  assert.ok(words.startsWith(second!.text.replace(' …', '')));
});

test('Telegram: an answer that the context cut gives way to the next one', async () => {
  const held = heldAnswer();
  const cut = { done_reason: 'length', prompt_eval_count: 4_000, eval_count: 4 };
  const script: Script = (call) => {
    const { messages } = call.body as { messages: unknown[] };
    return messages.length > 1 ? { ...held.script, more: cut } : { answer: 'the whole answer' };
  };
  const more = { storage: { path: 'svc.db' }, session: {} };
  const draftsFor = 'nobody';
  await using it = await openTelegram(script, { channel: { streaming: true }, more, draftsFor });
  await using _program = it.start();
  it.telegram.say(it.ann, 'hello');
  await it.telegram.waitForSent(1);
  it.telegram.say(it.ann, 'count');
  const { message } = await it.telegram.until(() => it.telegram.sent[1], 'a beginning');
  held.let(99);
  const whole = (): true | undefined =>
    it.telegram.shown(message)?.text === 'the whole answer' ? true : undefined;
  await it.telegram.until(whole, 'the second answer');
  assert.equal(it.telegram.sent.length, 2, 'it takes the place of the first');
});

const gone = {
  ok: false,
  error_code: 400,
  description: 'Bad Request: message to edit not found',
} as const;

test('Telegram: with streaming off the model answers in one, and nothing is edited', async () => {
  await using it = await stage({ streaming: false });
  await using _program = it.start();
  it.held.let(99);
  it.telegram.say(it.ann, 'count');
  await it.telegram.waitForSent(1);
  assert.equal((it.model.calls[0]!.body as { stream: boolean }).stream, false);
  assert.deepEqual(it.telegram.callsOf('editMessageText'), []);
});

test('Discord: the reply grows by edits, and ends as the text of the ledger', async () => {
  await using scene = await scratch();
  const held = heldAnswer();
  await using model = await startFakeOllama(held.script);
  await using discord = await startFakeDiscord();
  const local = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  const policy = { kind: 'priority' };
  const models = [{ ...local, base_url: model.url }];
  const channel = { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN' };
  const file = await writeConfig(scene.path, {
    channels: [{ ...channel, base_url: discord.url }],
    brains: [{ name: 'echo', sensitivity: 'public', policy, models }],
    routes: [{ channel: 'discord', brain: 'echo' }],
    observability: { enabled: false },
  });
  await using program = startServe(file, { DISCORD_TOKEN: discord.token });
  await program.saw('messenger_b is up');
  discord.say(discord.direct(discord.user('Ada')), 'count');
  await model.call(0);
  held.let(0);
  const [first] = await discord.waitForSent(1);
  assert.equal(first!.content, 'one two …');
  held.let(99);
  const shown = () => discord.shown(first!.message)?.content;
  await discord.until(() => (shown() === words ? true : undefined), 'all of it');
  assert.equal(discord.sent.length, 1);
});
