/** What is shown before, instead of and after a reply, on a Discord that does as Discord does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvName, MessengerConfig } from '../../config/config.ts';
import type { MessageId } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import { systemClock } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { Stopper } from '../../lib/stop.ts';
import { startFakeDiscord } from '../../../test/fake/discord.ts';
import type { DiscordOptions } from '../../../test/fake/discord.ts';
import { NotingLedger } from '../../../test/fake/discord-bench.ts';
import type { Channel as Place } from '../../../test/fake/discord/wire.ts';
import { hastened } from '../../../test/hand-clock.ts';
import { noteEvents } from '../../../test/fake/webhook.ts';
import { createDiscordChannel } from './discord.ts';

const first = { number: 1, possibleDuplicate: false, late: false };

/** @param haste what waits for some time waits so many times shorter */
async function start(more: Partial<MessengerConfig> = {}, options: DiscordOptions = {}, haste = 1) {
  const own = new AsyncDisposableStack();
  const fake = own.use(await startFakeDiscord({ identifyGapMs: 0, ...options }));
  const deadlines = hastened(createDeadlines(), haste);
  const http = createHttpClient(deadlines);
  own.defer(() => http.close());
  const ledger = new NotingLedger();
  const manners = { streaming: true, gatherMs: 0, edits: false, speech: null } as const;
  const tokenEnv = 'DISCORD_TOKEN' as EnvName;
  const where = { type: 'messenger_b', tokenEnv, baseUrl: fake.url, access: null } as const;
  const config: MessengerConfig = { ...where, ...manners, ...more };
  const limits = { pauseMs: 20, pauseMsMax: 50, spacingMs: 0, tickMs: 20 };
  const { events } = noteEvents();
  const rest = { http, deadlines, events, ...systemClock, random: Math.random, limits };
  const channel = own.use(createDiscordChannel({ config, token: fake.token, ...rest }));
  await channel.open();
  const ada = fake.user('Ada');
  const chat = fake.direct(ada);
  const deliver = (reply: Partial<Reply>, target: string = chat.id) => {
    const address = { channel: 'messenger_b:1', target };
    const whole = { id: '01kz8c4h9e2q7x5t0m3vbn', inReplyTo: 'q1', address, ...reply };
    return channel.deliver(whole as Reply, first, new Stopper());
  };
  const question = '01kz8c4h9e2q7x5t0m3vbp' as MessageId;
  return {
    fake,
    ledger,
    channel,
    ada,
    chat,
    deliver,
    preview: (target: string, replaces: string | null = null) => {
      const made: string[] = [];
      const address = { channel: 'messenger_b:1', target } as Reply['address'];
      const shown = { address, question, replaces };
      const preview = channel.preview!({ ...shown, made: (one) => void made.push(one) });
      return { preview, made };
    },
    answer: ({ dedupeKey, address }: Inbound, text: string, id: string) =>
      deliver({ id, text, address, inReplyTo: dedupeKey as MessageId } as never),
    async run() {
      const ending = new AbortController();
      const running = channel.run(ledger.receive, ending.signal);
      own.defer(async () => {
        ending.abort();
        await running;
      });
      await fake.waitForReady();
    },
    called: (route: string) =>
      fake.until(() => fake.calls.find((call) => call.route === route), route),
    /** What stands there, by the bot. */
    texts: ({ id }: Place = chat) =>
      fake.sent
        .filter(({ channelId }) => channelId === id)
        .map(({ message }) => fake.shown(message)?.content)
        .filter((content) => content !== undefined),
    asked: async (n: number): Promise<void> => {
      while (ledger.messages.length < n) await new Promise((next) => setTimeout(next, 5));
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

const long = 'An answer of some **length** that goes on for a while, and';
const create = 'POST /channels/:id/messages';
const patch = 'PATCH /channels/:id/messages/:id';
const take = 'DELETE /channels/:id/messages/:id';

test('a reply grows by edits, and the last edit is the reply', async () => {
  await using it = await start();
  const { preview, made } = it.preview(it.chat.id);
  preview.show(long);
  await it.fake.waitForSent(1);
  preview.show(`${long} ends.`);
  const edited = () => it.texts().some((text) => text.endsWith('ends. …')) || undefined;
  await it.fake.until(edited, 'an edit');
  await preview.end();
  const choices = [{ label: 'Again', says: '/retry' }];
  const reply = { text: `${long} ends so.`, replaces: made[0]!, choices };
  assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
  assert.deepEqual(it.texts(), [`${long} ends so.`]);
  const shown = it.fake.shown(it.fake.sent[0]!.message);
  assert.deepEqual((shown?.['components'] as unknown[] | undefined)?.length, 1);
});

test('the first text refers to the question, and a second try makes no second one', async () => {
  await using it = await start();
  const place = it.fake.textChannel(it.fake.guild('House'), 'general');
  const question = it.fake.say(place, 'svc?', { author: it.ada });
  it.fake.fail(create, { kind: 'reset', done: true });
  const { preview, made } = it.preview(`${place.id}/${question.id}`);
  preview.show(long);
  await it.fake.until(() => it.fake.calls.filter(({ route }) => route === create)[1], 'twice');
  await preview.end();
  assert.equal(it.fake.sent.length, 1);
  assert.equal(made.at(-1), `${place.id}/${it.fake.sent[0]!.message.id}`);
  assert.deepEqual(it.fake.sent[0]?.message.mentions, []);
  const again = it.preview(`${place.id}/${question.id}`, made.at(-1));
  again.preview.show(`${long} after the crash`);
  await it.fake.until(() => it.fake.calls.find(({ route }) => route === patch), 'an edit');
  await again.preview.end();
  assert.deepEqual([it.fake.sent.length, again.made], [1, []]);
});

test('it waits for no limit: what has no room is not shown, and the reply is', async () => {
  await using it = await start({}, { routeLimit: { requests: 2, windowMs: 1_000 } });
  const creates = () => it.fake.calls.filter(({ route }) => route === create).length;
  // The library keeps the limit once it has learned which one it is.
  for (const n of [0, 1]) {
    const id = `01kz8c4h9e2q7x5t0m3vd${n}` as Reply['id'];
    await it.deliver({ id, text: 'before' });
  }
  const { preview, made } = it.preview(it.chat.id);
  preview.show(long);
  await preview.end();
  assert.deepEqual([creates(), made], [2, []]);
  assert.deepEqual(await it.deliver({ text: 'four' }), { kind: 'delivered' });
  assert.deepEqual(it.texts(), ['before', 'before', 'four']);
});

test('without streaming there is no preview', async () => {
  await using it = await start({ streaming: false });
  const shows = ['preview', 'begun'].map((name) => Reflect.get(it.channel, name) as unknown);
  assert.deepEqual(shows, [undefined, undefined]);
});

test('an edit whose end was not seen is made again; what cannot be edited is sent', async () => {
  await using it = await start();
  await it.deliver({ text: 'four' });
  const reply = { text: 'five', replaces: `${it.chat.id}/${it.fake.sent[0]!.message.id}` };
  it.fake.fail(patch, { kind: 'reset', done: true });
  const lost = await it.deliver(reply);
  assert.ok(lost.kind === 'retry' && !lost.mayHaveArrived);
  assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
  assert.deepEqual(it.texts(), ['five']);
  const theirs = it.fake.say(it.chat, 'mine');
  const other = it.fake.direct(it.fake.user('Bo'));
  const gone = [`${it.chat.id}/1`, `${it.chat.id}/${theirs.id}`, `${other.id}/1`, 'nonsense'];
  for (const [index, replaces] of gone.entries()) {
    const id = `01kz8c4h9e2q7x5t0m3vc${index}` as Reply['id'];
    assert.deepEqual(await it.deliver({ id, text: 'six', replaces }), { kind: 'delivered' });
    assert.equal(it.fake.sent.length, index + 2);
  }
});

for (const fault of [
  { kind: 'refuse', error: 'missingAccess' },
  { kind: 'status', status: 400 },
  { kind: 'status', status: 403 },
  { kind: 'status', status: 404 },
] as const) {
  test(`where an edit is refused (${JSON.stringify(fault)}) one is sent in its place`, async () => {
    await using it = await start();
    await it.deliver({ text: 'the beginning …' });
    const replaces = `${it.chat.id}/${it.fake.sent[0]!.message.id}`;
    it.fake.fail(patch, fault);
    const id = '01kz8c4h9e2q7x5t0m3vbs' as Reply['id'];
    assert.deepEqual(await it.deliver({ id, text: 'four', replaces }), { kind: 'delivered' });
    await it.fake.until(() => it.texts().length === 1 || undefined, 'the beginning is gone');
    assert.deepEqual(it.texts(), ['four']);
  });
}

test('a reply stands, also where an edit before it is carried out after it', async () => {
  await using it = await start({}, {}, 10);
  const { preview, made } = it.preview(it.chat.id);
  preview.show(long);
  await it.fake.waitForSent(1);
  it.fake.fail(patch, { kind: 'hang' });
  preview.show(`${long} goes on`);
  await it.fake.until(() => it.fake.calls.find(({ route }) => route === patch), 'the edit');
  await preview.end();
  const reply = { text: `${long} ends.`, replaces: made[1]! };
  it.fake.fail(take, { kind: 'reset', done: true });
  const lost = await it.deliver(reply);
  assert.ok(lost.kind === 'retry' && !lost.mayHaveArrived);
  for (const _ of ['then', 'and after a crash']) {
    assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
    assert.equal(it.fake.shown(it.fake.sent[0]!.message), undefined, 'an edit meets none');
    assert.deepEqual([it.texts(), it.fake.sent.length], [[`${long} ends.`], 2]);
  }
});

for (const fault of [
  { kind: 'html', status: 502, done: true },
  { kind: 'reset', done: true },
  { kind: 'status', status: 500 },
] as const) {
  test(`a beginning that nobody saw is the reply’s (${JSON.stringify(fault)})`, async () => {
    await using it = await start();
    it.fake.fail(create, fault);
    const { preview, made } = it.preview(it.chat.id);
    preview.show(long);
    await it.called(create);
    await preview.end();
    assert.equal(made.length, 1);
    const choices = [{ label: 'Again', says: '/retry' }];
    const reply = { text: `${long} ends.`, replaces: made[0]!, choices };
    it.fake.fail(create, { kind: 'reset', done: true });
    assert.equal((await it.deliver(reply)).kind, 'retry');
    assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
    assert.deepEqual([it.texts(), it.fake.sent.length], [[`${long} ends.`], 1]);
    const shown = it.fake.shown(it.fake.sent[0]!.message);
    assert.deepEqual((shown?.['components'] as unknown[] | undefined)?.length, 1);
  });
}

test('the reply takes the place of a beginning that a process before did not keep', async () => {
  await using it = await start();
  const { preview } = it.preview(it.chat.id);
  preview.show(long);
  await it.fake.waitForSent(1);
  await preview.end();
  const address = { channel: 'messenger_b:1', target: it.chat.id } as Reply['address'];
  const id = '01kz8c4h9e2q7x5t0m3vbp' as MessageId;
  const replaces = it.channel.begun!({ id, address })!;
  assert.deepEqual(await it.deliver({ text: 'four', replaces }), { kind: 'delivered' });
  assert.deepEqual([it.texts(), it.fake.sent.length], [['four'], 1]);
  // As after a replay, when the person had been told that nobody answered.
  const next = '01kz8c4h9e2q7x5t0m3vbs' as Reply['id'];
  assert.deepEqual(await it.deliver({ id: next, text: 'five', replaces }), { kind: 'delivered' });
  assert.deepEqual([it.texts(), it.fake.sent.length], [['five'], 1]);
  const deferred = { ...address, target: `${it.chat.id}//1/token` };
  assert.equal(it.channel.begun!({ id, address: deferred }), null);
});

test('a beginning that nobody saw grows on once it is found', async () => {
  await using it = await start();
  it.fake.fail(create, { kind: 'html', status: 502, done: true });
  const { preview, made } = it.preview(it.chat.id);
  preview.show(long);
  while (made.length < 2) await new Promise((next) => setTimeout(next, 5));
  preview.show(`${long} goes on`);
  const grown = () => it.texts().some((text) => text.endsWith('on …')) || undefined;
  await it.fake.until(grown, 'an edit');
  await preview.end();
  const { id } = it.fake.sent[0]!.message;
  assert.deepEqual([made.length, made[1], it.fake.sent.length], [2, `${it.chat.id}/${id}`, 1]);
});

test('a beginning that nobody saw gives way to a file; where it is gone one is sent', async () => {
  for (const file of [undefined, { name: 'code.js' }]) {
    await using it = await start();
    it.fake.fail(create, { kind: 'html', status: 502, done: true });
    const { preview, made } = it.preview(it.chat.id);
    preview.show(long);
    await it.called(create);
    await preview.end();
    const [begun] = it.fake.sent;
    if (file === undefined) it.fake.remove(it.chat, it.fake.shown(begun!.message)!);
    const reply = { text: 'let a;', replaces: made[0]!, ...(file && { file }) };
    assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
    assert.deepEqual(it.texts(), [file === undefined ? 'let a;' : '']);
    assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
    assert.deepEqual([it.texts().length, it.fake.sent.length], [1, 2]);
  }
});

test('an answer in the place of one that began with a file has no file', async () => {
  await using it = await start({ edits: true });
  await it.run();
  const said = it.fake.say(it.chat, 'show me');
  await it.asked(1);
  const code = { text: 'let a;', file: { name: 'code.js' }, inReplyTo: said.id as MessageId };
  await it.deliver({ ...code, address: it.ledger.messages[0]!.address });
  const message = () => it.fake.shown(it.fake.sent[0]!.message);
  const files = () => message()?.['attachments'] as unknown[];
  assert.equal(files().length, 1);
  const target = it.ledger.messages[0]!.address.target;
  it.fake.edit(it.chat, said, 'two and two?');
  await it.asked(2);
  const { preview, made } = it.preview(it.ledger.messages[1]!.address.target);
  preview.show(long);
  await preview.end();
  assert.deepEqual([made, files().length], [[], 1], 'until there is another one it stays');
  const id = '01kz8c4h9e2q7x5t0m3vbs' as Reply['id'];
  await it.deliver({ id, text: 'four', replaces: `${it.chat.id}/${message()!.id}` }, target);
  assert.deepEqual([it.texts(), files()], [['four'], []]);
});

test('long code goes as a file, once, with its buttons', async () => {
  await using it = await start();
  const text = 'let ü = "😀";\n'.repeat(300);
  const choices = [{ label: 'Again', says: '/retry' }];
  const reply = { text, file: { name: 'code.js' }, choices };
  it.fake.fail(create, { kind: 'reset', done: true });
  const lost = await it.deliver(reply);
  assert.ok(lost.kind === 'retry' && lost.mayHaveArrived);
  assert.deepEqual(await it.deliver(reply), { kind: 'delivered' });
  assert.equal(it.fake.sent.length, 1);
  const [{ files, message } = { files: [], message: null }] = it.fake.sent;
  assert.deepEqual([files[0]?.name, files[0]?.text, message?.content], ['code.js', text, '']);
  assert.deepEqual((message?.['components'] as unknown[] | undefined)?.length, 1);
});

for (const error of ['tooLarge', 'missingPermissions'] as const) {
  test(`a file that is refused (${error}) goes as text, or as its beginning`, async () => {
    await using it = await start();
    const file = { name: 'code.js' };
    it.fake.fail(create, { kind: 'refuse', error });
    assert.deepEqual(await it.deliver({ text: 'let a;\n', file }), { kind: 'delivered' });
    it.fake.fail(create, { kind: 'refuse', error });
    const id = '01kz8c4h9e2q7x5t0m3vbr' as Reply['id'];
    await it.deliver({ id, text: 'let a;\n'.repeat(1_000), file });
    const [whole, begun] = it.texts();
    assert.equal(whole, '```\nlet a;\n```');
    assert.match(begun!, /could not be sent as a file; this is how it begins\.$/);
  });
}

test('a preview whose reply is a file is taken away', async () => {
  await using it = await start();
  await it.deliver({ text: 'the beginning …' });
  const { message } = it.fake.sent[0]!;
  const id = '01kz8c4h9e2q7x5t0m3vbs' as Reply['id'];
  const replaces = `${it.chat.id}/${message.id}`;
  await it.deliver({ id, text: 'let a;', file: { name: 'code.js' }, replaces });
  assert.equal(it.fake.shown(message), undefined, 'before the reply counts as delivered');
});

test('an edit is asked once, and its answer edits the former one', async () => {
  await using it = await start({ edits: true });
  await it.run();
  const said = it.fake.say(it.chat, 'two and two?');
  await it.asked(1);
  const [question] = it.ledger.messages;
  await it.answer(question!, 'four', '01kz8c4h9e2q7x5t0m3v00-00');
  await it.answer(question!, 'and more', '01kz8c4h9e2q7x5t0m3v00-01');
  const edited = it.fake.edit(it.chat, said, 'three and three?');
  await it.asked(2);
  const edit = it.ledger.messages[1]!;
  assert.deepEqual(
    [edit.text, edit.dedupeKey, edit.apart, question!.apart],
    ['three and three?', `edit:${said.id}`, 'edit', undefined],
  );
  await it.answer(edit, 'six', '01kz8c4h9e2q7x5t0m3v01');
  await it.fake.until(() => it.texts().length === 1 || undefined, 'what is left over is gone');
  assert.deepEqual([it.texts(), it.fake.sent.length], [['six'], 2]);
  it.fake.edit(it.chat, edited, 'four and four?');
  it.fake.say(it.chat, 'the next');
  await it.asked(3);
  assert.equal(it.ledger.messages[2]?.text, 'the next');
});

test('links that unfold, and edits where they are off are not asked', async () => {
  for (const edits of [true, false]) {
    await using it = await start({ edits });
    await it.run();
    const said = it.fake.say(it.chat, 'see https://svc.example');
    await it.asked(1);
    const unfolded = { ...said, embeds: [{ type: 'link' }], channel_type: 1 };
    it.fake.gateway.dispatch('MESSAGE_UPDATE', 0, () => unfolded);
    if (!edits) it.fake.edit(it.chat, said, 'another text');
    it.fake.say(it.chat, 'the last');
    await it.asked(2);
    assert.equal(it.ledger.messages[1]?.text, 'the last');
  }
});

test('in a group who was not heard is not heard with an edit', async () => {
  await using it = await start({ edits: true });
  const place = it.fake.textChannel(it.fake.guild('House'), 'general');
  await it.run();
  const overheard = it.fake.say(place, 'to others', { author: it.ada });
  const heard = it.fake.say(place, `<@${it.fake.bot.id}> one`, { author: it.ada });
  await it.asked(1);
  it.fake.edit(place, overheard, `<@${it.fake.bot.id}> to others`);
  it.fake.edit(place, heard, `<@${it.fake.bot.id}> two`);
  await it.asked(2);
  assert.deepEqual(it.ledger.texts, ['one', 'two']);
  assert.equal(it.ledger.messages[1]?.address.target, `${place.id}/${heard.id}/${heard.id}`);
});
