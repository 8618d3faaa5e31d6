/** Replies that grow while the brain writes them, on a fake that behaves as Discord does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageId } from '../../domain/ids.ts';
import type { Reply } from '../../domain/reply.ts';
import { create, long, patch, take, startShowing } from '../../../test/fake/showing-discord.ts';
import { mockedClock } from '../../../test/support/hand-clock.ts';
import { until } from '../../../test/support/waiting.ts';

test('a reply grows by edits, and the last edit is the reply', async () => {
  await using it = await startShowing();
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
  await using it = await startShowing();
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

test('it waits for no limit: what has no room is not shown, and the reply is late', async (t) => {
  // The library has no other clock. It holds a timer until the limit's end for a refused call.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const routeLimit = { requests: 2, windowMs: 2_000 };
  await using it = await startShowing({}, { routeLimit }, 1, mockedClock);
  const creates = () => it.fake.calls.filter(({ route }) => route === create).length;
  // The library applies the limit once it knows the bucket of the route.
  for (const n of [0, 1]) {
    const id = `01kz8c4h9e2q7x5t0m3vd${n}` as Reply['id'];
    await it.deliver({ id, text: 'before' });
  }
  const { preview, made } = it.preview(it.chat.id);
  preview.show(long);
  await preview.end();
  assert.deepEqual([creates(), made], [2, []]);
  const outcome = await it.deliver({ text: 'four' });
  assert.ok(outcome.kind === 'paced' && outcome.asked === null);
  assert.deepEqual(it.texts(), ['before', 'before']);
});

test('a 429 in one channel ends what is shown there, and nothing elsewhere', async () => {
  await using it = await startShowing({}, {}, 20);
  const typing = 'POST /channels/:id/typing';
  const limit = { kind: 'rate-limit', retryAfterSeconds: 3_000 } as const;
  for (const route of [create, typing]) it.fake.fail(route, limit);
  const ending = new AbortController();
  const work = (target: string) => {
    const address = { channel: 'messenger_b:1', target } as Reply['address'];
    it.channel.showWorking?.(address, ending.signal);
  };
  const typed = (target: string) =>
    it.fake.calls.filter(({ path }) => path.includes(target)).length;
  const here = it.preview(it.chat.id);
  here.preview.show(long);
  work(it.chat.id);
  await it.called(create);
  await it.called(typing);
  const { id } = it.fake.textChannel(it.fake.guild('House'), 'general');
  const there = it.preview(id);
  there.preview.show(long);
  work(id);
  await it.fake.waitForSent(1);
  await until('typing goes on elsewhere', () => typed(`${id}/typing`) >= 2);
  assert.deepEqual([typed(`${it.chat.id}/typing`), here.made], [1, []]);
  ending.abort();
  await Promise.all([here.preview.end(), there.preview.end()]);
});

test('a preview that is answered by a 503 may come yet, and the reply knows', async () => {
  await using it = await startShowing();
  const unavailable = { kind: 'status', status: 503 } as const;
  it.fake.fail(create, unavailable);
  const first = it.preview(it.chat.id);
  first.preview.show(long);
  await it.called(create);
  await first.preview.end();
  assert.deepEqual(first.made, [`${it.chat.id}/p01kz8c4h9e2q7x5t0m3vbp`]);
  await it.deliver({ text: 'four' });
  const name = `${it.chat.id}/${it.fake.sent[0]!.message.id}`;
  it.fake.fail(patch, unavailable);
  const again = it.preview(it.chat.id, name);
  again.preview.show(long);
  await it.called(patch);
  await again.preview.end();
  assert.deepEqual(again.made, [`${name}/unsure`]);
});

test('a reply that finds no preview by its key has nothing to take away', async () => {
  await using it = await startShowing();
  const replaces = `${it.chat.id}/p01kz8c4h9e2q7x5t0m3vbp`;
  assert.deepEqual(await it.deliver({ text: 'four', replaces }), { kind: 'delivered' });
  assert.deepEqual([it.texts(), it.fake.calls.map(({ route }) => route)], [['four'], [create]]);
});

test('a message is taken away before its reply within five seconds, or later', async (t) => {
  await using it = await startShowing();
  await it.deliver({ text: 'the beginning …' });
  const replaces = `${it.chat.id}/${it.fake.sent[0]!.message.id}/unsure`;
  const limits: number[] = [];
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    limits.push(ms);
    return AbortSignal.abort();
  });
  const outcome = await it.deliver({ text: 'four', replaces });
  assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived);
  assert.deepEqual([limits, it.texts()], [[5_000], ['the beginning …']]);
});

test('without streaming there is no preview', async () => {
  await using it = await startShowing({ streaming: false });
  const shows = ['preview', 'begun'].map((name) => Reflect.get(it.channel, name) as unknown);
  assert.deepEqual(shows, [undefined, undefined]);
});

test('an edit whose end was not seen is made again; what cannot be edited is sent', async () => {
  await using it = await startShowing();
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
    await using it = await startShowing();
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
  await using it = await startShowing({}, {}, 10);
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
    await using it = await startShowing();
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
  await using it = await startShowing();
  const { preview } = it.preview(it.chat.id);
  preview.show(long);
  await it.fake.waitForSent(1);
  await preview.end();
  const address = { channel: 'messenger_b:1', target: it.chat.id } as Reply['address'];
  const id = '01kz8c4h9e2q7x5t0m3vbp' as MessageId;
  const replaces = it.channel.begun!({ id, address })!;
  assert.deepEqual(await it.deliver({ text: 'four', replaces }), { kind: 'delivered' });
  assert.deepEqual([it.texts(), it.fake.sent.length], [['four'], 1]);
  // The case after a replay, when the person was told that nobody answered.
  const next = '01kz8c4h9e2q7x5t0m3vbs' as Reply['id'];
  assert.deepEqual(await it.deliver({ id: next, text: 'five', replaces }), { kind: 'delivered' });
  assert.deepEqual([it.texts(), it.fake.sent.length], [['five'], 1]);
  const deferred = { ...address, target: `${it.chat.id}//1/token` };
  assert.equal(it.channel.begun!({ id, address: deferred }), null);
});

test('a beginning that nobody saw grows on once it is found', async () => {
  await using it = await startShowing();
  it.fake.fail(create, { kind: 'html', status: 502, done: true });
  const { preview, made } = it.preview(it.chat.id);
  preview.show(long);
  await until('the beginning that is found', () => made.length === 2);
  preview.show(`${long} goes on`);
  const grown = () => it.texts().some((text) => text.endsWith('on …')) || undefined;
  await it.fake.until(grown, 'an edit');
  await preview.end();
  const { id } = it.fake.sent[0]!.message;
  assert.deepEqual([made.length, made[1], it.fake.sent.length], [2, `${it.chat.id}/${id}`, 1]);
});

test('a beginning that nobody saw gives way to a file; where it is gone one is sent', async () => {
  for (const file of [undefined, { name: 'code.js' }]) {
    await using it = await startShowing();
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

test('where no message can be referred to, the reply grows without a reference', async () => {
  await using it = await startShowing();
  const general = it.fake.textChannel(it.fake.guild('Home'), 'general');
  const question = it.fake.say(general, 'what?', { author: it.ada });
  it.fake.hideHistory(general);
  const { preview, made } = it.preview(`${general.id}/${question.id}`);
  preview.show(long);
  await it.fake.waitForSent(1);
  await preview.end();
  const replaces = made.at(-1)!;
  const target = `${general.id}/${question.id}`;
  assert.deepEqual(await it.deliver({ text: 'four', replaces }, target), { kind: 'delivered' });
  assert.deepEqual([it.texts(general), it.fake.sent.length], [['four'], 1]);
});
