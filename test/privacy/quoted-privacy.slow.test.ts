/** The parts of a quoted message that a model elsewhere sees, on the whole program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, lastOf } from '../agents/stage.ts';
import type { ModelCall, Script } from '../fake/model-server.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { durable, openTelegram, writeTelegramConfig } from '../telegram/program.ts';

const secret = 'the safe opens with 4711';
const unshown = '[replying to a message that you are not shown]';

/** A private brain first, and a public one on a model elsewhere once it is `away`. */
async function stage(
  local: Script,
  elsewhere: Script,
  setup: { channel?: object; more?: object } = {},
) {
  const { channel = {}, more: kept = durable } = setup;
  await using made = new AsyncDisposableStack();
  // Nobody can reply to a draft.
  const draftsFor = 'nobody';
  const it = made.use(await openTelegram(local, { more: kept, draftsFor }));
  const cloud = made.use(await startFakeOpenai(elsewhere));
  const model = { provider: 'hosted_runtime', model_id: 'gpt-test', locality: 'cloud' };
  const models = [{ ...model, base_url: cloud.url, api_key_env: 'CLOUD_KEY' }];
  const brains = [{ name: 'echo', sensitivity: 'public', policy: { kind: 'priority' }, models }];
  const where = { telegramUrl: it.telegram.url, modelUrl: it.model.url, adminPort: it.adminPort };
  const own = made.move();
  return {
    ...it,
    cloud,
    lastAway: () => lastOf(cloud.calls.at(-1)!).content,
    async startAway() {
      await writeTelegramConfig(it.folder, { ...where, channel, more: { ...kept, brains } });
      return it.start({ CLOUD_KEY: 'a-key-of-the-tests' });
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a model elsewhere is quoted what a public brain said and no private one', async () => {
  await using it = await stage({ answer: secret }, { answer: 'It is **four**.' });
  const { telegram, ann, cloud, lastAway } = it;
  {
    await using program = it.start();
    telegram.say(ann, 'where is it?');
    await telegram.waitForSent(1);
    assert.equal(await program.stop(), 0, program.log());
  }
  const [told] = telegram.sent;
  await using program = await it.startAway();
  telegram.say(ann, 'and this?', { replyTo: told!.message.message_id });
  await telegram.waitForSent(2);
  assert.equal(lastAway(), `and this?\n\n${unshown}`);
  telegram.say(ann, 'why?', { replyTo: telegram.sent[1]!.message.message_id });
  await telegram.waitForSent(3);
  assert.equal(lastAway(), 'why?\n\nReplying to your earlier answer:\n> It is four.');
  assert.ok(cloud.calls.every(({ text }) => !text.includes('4711')));
  assert.equal(await program.stop(), 0, program.log());
});

/** Formats that Telegram shows without the model's marks; `n` makes the words unique. */
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
  const shaped = (call: ModelCall, word: string) => {
    const said = lastOf(call).content;
    return { answer: Object.hasOwn(shapes, said) ? shapes[said]!(word) : 'noted' };
  };
  await using it = await stage(
    (call) => shaped(call, 'secret'),
    (call) => shaped(call, 'open'),
  );
  const { telegram, cloud, lastAway } = it;
  // A chat takes about a message a second, so each shape has its own.
  const chats = new Map(names.map((name) => [name, telegram.privateChat(telegram.person(name))]));
  const answered = async (name: string, text: string, replyTo?: number) => {
    const before = telegram.sent.length;
    telegram.say(chats.get(name)!, text, replyTo === undefined ? {} : { replyTo });
    return (await telegram.waitForSent(before + 1)).at(-1)!.message;
  };
  const kept = new Map<string, number>();
  {
    await using program = it.start();
    for (const name of names) kept.set(name, (await answered(name, name)).message_id);
    assert.equal(await program.stop(), 0, program.log());
  }
  await using program = await it.startAway();
  for (const name of names) {
    await answered(name, 'and this?', kept.get(name));
    assert.equal(lastAway(), `and this?\n\n${unshown}`, name);
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
  const quoted = Promise.withResolvers<void>();
  const between = (piece: number) => (piece === 6 ? quoted.promise : undefined);
  const answer = 'See [it](https://example.org/a) there, or ask.';
  await using it = await stage(
    { answer: secret },
    { answer, between },
    { channel: { streaming: true } },
  );
  const { telegram, ann } = it;
  await using program = await it.startAway();
  telegram.say(ann, 'where?');
  const [growing] = await telegram.waitForSent(1);
  assert.match(growing!.message.text!, /^See it.* …$/);
  telegram.say(ann, 'why?', { replyTo: growing!.message.message_id });
  quoted.resolve();
  await telegram.waitForSent(2);
  const quote = `Replying to your earlier answer:\n> ${growing!.message.text!}`;
  assert.equal(it.lastAway(), `why?\n\n${quote}`);
  assert.equal(await program.stop(), 0, program.log());
});

test('a model elsewhere is quoted what a public brain said in an earlier session', async () => {
  const more = { ...durable, session: { triggers: ['/new'] } };
  await using it = await stage({ answer: secret }, { answer: 'It is **four**.' }, { more });
  const { telegram, ann, lastAway } = it;
  const ask = async (text: string, replyTo?: number): Promise<number> => {
    const before = telegram.sent.length;
    telegram.say(ann, text, replyTo === undefined ? {} : { replyTo });
    return (await telegram.waitForSent(before + 1)).at(-1)!.message.message_id;
  };
  {
    await using program = it.start();
    await ask('where is it?');
    assert.equal(await program.stop(), 0, program.log());
  }
  const hidden = telegram.sent[0]!.message.message_id;
  await using program = await it.startAway();
  const told = await ask('two and two?');
  await ask('/new');
  await ask('why?', told);
  assert.equal(lastAway(), 'why?\n\nReplying to your earlier answer:\n> It is four.');
  await ask('and this?', hidden);
  assert.equal(lastAway(), `and this?\n\n${unshown}`);
  await ask('so?');
  const shown = bodyOf(it.cloud.calls.at(-1)!).messages.map(({ content }) => content);
  assert.ok(shown.includes(`and this?\n\n${unshown}`), 'later turns know as much');
  assert.ok(it.cloud.calls.every(({ text }) => !text.includes('4711')));
  assert.equal(await program.stop(), 0, program.log());
});

test('without storage what was said since the start is quoted, and nothing of before', async () => {
  await using it = await stage({ answer: secret }, { answer: 'It is **four**.' }, { more: {} });
  const { telegram, ann, lastAway } = it;
  await using program = await it.startAway();
  const own = telegram.say(ann, 'two and two?');
  const [answered] = await telegram.waitForSent(1);
  const reply = async (text: string, to: object, minutes: number): Promise<string> => {
    const before = telegram.sent.length;
    const date = Math.floor(Date.now() / 1_000) + 60 * minutes;
    telegram.say(ann, text, { fields: { reply_to_message: { ...to, date } } });
    await telegram.waitForSent(before + 1);
    return lastAway();
  };
  const answer = 'Replying to your earlier answer:\n> It is four.';
  assert.equal(await reply('why?', answered!.message, 2), `why?\n\n${answer}`);
  const asked = 'Replying to their own earlier message:\n> two and two?';
  assert.equal(await reply('why?', own, 2), `why?\n\n${asked}`);
  for (const to of [answered!.message, own]) {
    assert.equal(await reply('why?', to, -2), `why?\n\n${unshown}`);
  }
  assert.equal(await program.stop(), 0, program.log());
});

test('of another chat only what anybody can read goes elsewhere, and no title', async () => {
  await using it = await stage({ answer: 'so' }, { answer: 'It will be so.' });
  const { telegram, lastAway } = it;
  const group = telegram.supergroup('Team');
  await using program = await it.startAway();
  const at = `@${telegram.bot.username}`;
  const chat = { id: -1001234567890, type: 'channel', title: 'The board' };
  for (const [text, username, told] of [
    ['will be', undefined, unshown],
    ['it will be sold', undefined, unshown],
    ['It will be so', 'board', 'Replying to The board:\n> It will be so'],
  ] as const) {
    const before = telegram.sent.length;
    const where = { ...chat, ...(username !== undefined && { username }) };
    const origin = { type: 'channel', date: 1_700_000_000, chat: where, message_id: 7 };
    const external_reply = { origin, chat: where, message_id: 7 };
    const fields = { external_reply, quote: { text, position: 0 } };
    telegram.say(group, `${at} is it so?`, { from: it.user, fields });
    await telegram.waitForSent(before + 1);
    assert.equal(lastAway(), `Ann: is it so?\n\n${told}`);
  }
  assert.equal(await program.stop(), 0, program.log());
});

test('in a group who speaks is told, and later turns remember it', async () => {
  await using it = await openTelegram({ answer: 'so' }, { more: durable });
  const { telegram } = it;
  const [anna, bob] = [telegram.person('Anna'), telegram.person('Bob')];
  const group = telegram.group('Friends');
  await using program = it.start();
  await program.saw('is up');
  const at = `@${telegram.bot.username}`;
  const said = telegram.say(group, 'it rains', { from: bob });
  telegram.say(group, `${at} is it so?`, { from: anna, replyTo: said.message_id });
  await telegram.waitForSent(1);
  telegram.say(group, `${at} and now?`, { from: bob });
  await telegram.waitForSent(2);
  assert.deepEqual(
    bodyOf(it.model.calls.at(-1)!).messages.map(({ content }) => content),
    ['Anna: is it so?\n\nReplying to Bob:\n> it rains', 'so', 'Bob: and now?'],
  );
  assert.equal(await program.stop(), 0, program.log());
});
