/** Replies that Telegram shows as drafts while the brain writes them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startShowing } from '../../../test/fake/showing-telegram.ts';
import { refuse } from '../../../test/fake/telegram/wire.ts';
import { later, steadyNow } from '../../lib/clock.ts';
import { draftIdOf, Drafts } from './drafts.ts';

const long = 'An answer of some **length** that goes on for a while, and';

/** Ten times as fast, except for the time that a reply may take. */
const start = (draftsFor: 'everyone' | 'topics' | 'nobody' = 'everyone') =>
  startShowing({}, Date.now, 10, draftsFor);

type Stage = Awaited<ReturnType<typeof start>>;

const drafts = (it: Stage, count: number): Promise<unknown> =>
  it.telegram.until(() => it.telegram.drafts.length >= count || undefined, `draft ${count}`);

test('in a private chat a reply grows as a draft, and is then a message as any other', async () => {
  await using it = await start();
  const { preview, made } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  await drafts(it, 1);
  const [first] = it.telegram.drafts;
  assert.equal(first!.text, 'An answer of some length that goes on for a while, and');
  assert.deepEqual(first!.entities, [{ type: 'bold', offset: 18, length: 6 }]);
  preview.show(`${long} ends`);
  await drafts(it, 2);
  await preview.end();
  assert.equal(it.telegram.drafts[1]!.id, first!.id, 'the same one grows');
  assert.deepEqual([it.telegram.sent.length, made], [0, []]);
  assert.ok(it.telegram.draftIn(it.ann) !== undefined);
  assert.deepEqual(await it.deliver({ text: `${long} ends.` }), { kind: 'delivered' });
  assert.deepEqual(it.texts(), ['An answer of some length that goes on for a while, and ends.']);
  assert.equal(it.telegram.draftIn(it.ann), undefined);
});

test('a draft is shown in the topic of its message', async () => {
  await using it = await start('topics');
  const topic = it.telegram.openTopic(it.ann, 'Plans');
  const { preview } = it.preview([it.ann.id, topic, null]);
  preview.show(long);
  await drafts(it, 1);
  await preview.end();
  assert.equal(it.telegram.drafts[0]!.topic, topic);
});

for (const [server, draftsFor] of [
  ['a server that knows no drafts', 'nobody'],
  ['a server that has them in topics alone', 'topics'],
] as const) {
  test(`on ${server} replies grow by edits, and it is asked once`, async () => {
    await using it = await start(draftsFor);
    const bo = it.telegram.privateChat(it.telegram.person('Bo'));
    for (const [at, { id }] of [it.ann, bo].entries()) {
      const { preview, made } = it.preview([id, null, null]);
      preview.show(long);
      await it.telegram.waitForSent(at + 1);
      await preview.end();
      assert.equal(made.length, 1);
    }
    assert.equal(it.telegram.callsOf('sendMessageDraft').length, 1);
  });
}

test('a group gets no draft', async () => {
  await using it = await start();
  const group = it.telegram.supergroup('Team');
  const question = it.telegram.say(group, 'svc?');
  const { preview } = it.preview([group.id, null, question.message_id]);
  preview.show(long);
  await it.telegram.waitForSent(1);
  await preview.end();
  assert.equal(it.telegram.callsOf('sendMessageDraft').length, 0);
});

test('a message that stood there before a crash goes on by edits', async () => {
  await using it = await start();
  await it.deliver({ text: 'the beginning …' });
  const replaces = JSON.stringify([it.ann.id, it.telegram.sent[0]!.message.message_id]);
  const { preview } = it.preview([it.ann.id, null, null], replaces);
  preview.show(long);
  await it.telegram.waitForCall('editMessageText');
  await preview.end();
  assert.equal(it.telegram.drafts.length, 0);
});

test('a draft that is refused for its text is a message, and the next reply has one', async () => {
  await using it = await start();
  const words = "Bad Request: can't parse MessageEntity: Unsupported type specified";
  const answer = refuse(400, words);
  it.telegram.fail('sendMessageDraft', { kind: 'refuse', answer });
  const first = it.preview([it.ann.id, null, null]);
  first.preview.show(long);
  await it.telegram.waitForSent(1);
  await first.preview.end();
  const second = it.preview([it.ann.id, null, null]);
  second.preview.show(long);
  await drafts(it, 1);
  await second.preview.end();
});

test('a limit for drafts holds them for as long as it says, and no reply', async () => {
  await using it = await start();
  it.telegram.fail('sendMessageDraft', { kind: 'rate-limit', retryAfterSeconds: 3 });
  const { preview } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  await it.telegram.waitForCall('sendMessageDraft');
  assert.deepEqual(await it.deliver({ text: 'four' }), { kind: 'delivered' });
  await drafts(it, 1);
  await preview.end();
});

test('an end waits for a draft under way, so that none comes behind the reply', async () => {
  await using it = await start();
  const [begun, continuationMark] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  it.telegram.onCall = async ({ method }) => {
    if (method !== 'sendMessageDraft') return;
    begun.resolve();
    await continuationMark.promise;
  };
  const { preview } = it.preview([it.ann.id, null, null]);
  preview.show(long);
  await begun.promise;
  let isOver = false;
  const ending = preview.end().then(() => (isOver = true));
  await new Promise(setImmediate);
  assert.equal(isOver, false);
  continuationMark.resolve();
  await ending;
  assert.equal(it.telegram.drafts.length, 1);
});

test('a refusal is remembered for an hour: of its kind of chats, or of a chat alone', () => {
  let now = steadyNow();
  const [ann, bo] = [1, 2].map((chat) => ({ chat, thread: null }));
  const topic = { chat: 3, thread: 7 };
  const may = (known: Drafts) => [ann!, bo!, topic].map((place) => known.mayShow(place));
  const refusal = {
    kind: 'refused',
    status: 400,
    retryAfterMs: null,
    migrateToChat: null,
  } as const;
  const peer = { ...refusal, description: 'Bad Request: TEXTDRAFT_PEER_INVALID' };
  const known = new Drafts(() => now);
  known.refused(ann!, { ...refusal, description: 'Bad Request: message is too long' });
  assert.deepEqual(may(known), [true, true, true]);
  known.refused(ann!, peer);
  assert.deepEqual(may(known), [false, false, true]);
  known.refused(topic, { ...refusal, status: 404, description: 'Not Found: method not found' });
  assert.deepEqual(may(known), [false, false, false]);
  now = later(now, 3_600_000);
  assert.deepEqual(may(known), [true, true, true]);
  known.shown(bo!);
  known.refused(ann!, peer);
  assert.deepEqual(may(known), [false, true, true]);
});

test('the id of a draft is that of its question, and never zero', () => {
  assert.equal(draftIdOf('q1'), draftIdOf('q1'));
  assert.notEqual(draftIdOf('q1'), draftIdOf('q2'));
  for (let n = 0; n < 1_000; n++) {
    const id = draftIdOf(`q${n}`);
    assert.ok(id > 0 && id < 2 ** 31, `${id}`);
  }
});
