/**
 * Best-effort calls: they take no reply's place in a chat, and a 429 to one kind stops that kind
 * alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { startShowing } from '../../../test/fake/showing-telegram.ts';
import { BestEffort } from '../messenger/best-effort.ts';
import type { CallResult } from '../messenger/platform.ts';
import { createRoom } from './telegram.ts';

const { signal } = new AbortController();
const group = -100200;
const limit = { kind: 'refused', status: 429, description: '' } as const;
const at = (chat: number) => ({ chat, thread: null, replyTo: null });

function start() {
  const clock = handClock();
  const calls: string[] = [];
  const answers: CallResult[] = [];
  const call = async (method: string, chat: number): Promise<CallResult> => {
    calls.push(`${method} ${chat}`);
    return answers.shift() ?? { kind: 'ok', body: true };
  };
  const room = createRoom(clock);
  const rateLimiter = {
    admit: (chat: number, by: AbortSignal) => room.admit(at(chat), by),
  };
  const bestEffort = new BestEffort({ room, ...clock });
  return {
    calls,
    answers,
    rateLimiter,
    bestEffort,
    pass: async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 20) {
        clock.pass(20);
        await new Promise<void>((acted) => clock.deadlines.after(0, acted));
        await new Promise(setImmediate);
      }
    },
    call,
    see: (chat: number) =>
      void bestEffort.offer('reaction', at(chat), () => call('setMessageReaction', chat), signal),
    type: (chat: number) =>
      void bestEffort.offer('typing', at(chat), () => call('sendChatAction', chat), signal),
  };
}

test('a 429 to one kind holds that kind, as long as it says, and nothing else', async () => {
  const it = start();
  it.answers.push({ ...limit, retryAfterMs: 8_000 });
  it.see(1);
  await it.pass(100);
  it.see(2);
  it.type(3);
  assert.deepEqual(await it.rateLimiter.admit(4, signal), { kind: 'go' });
  await it.pass(3_000);
  assert.deepEqual(it.calls, ['setMessageReaction 1', 'sendChatAction 3']);
  await it.pass(5_000);
  it.see(5);
  await it.pass(20);
  assert.equal(it.calls.at(-1), 'setMessageReaction 5');
});

test('a 429 to what shows a reply before it is whole holds that alone', async () => {
  const it = start();
  it.answers.push({ ...limit, retryAfterMs: 8_000 });
  const spare = (chat: number) => it.bestEffort.waitForPreview('preview', at(chat), signal, false);
  assert.equal(await spare(1), true);
  it.bestEffort.noteLimit('preview', await it.call('sendMessage', 1));
  let isHeld = true;
  void spare(2).then(() => (isHeld = false));
  assert.deepEqual(await it.rateLimiter.admit(2, signal), { kind: 'go' });
  await it.pass(7_900);
  assert.equal(isHeld, true);
  await it.pass(200);
  assert.equal(isHeld, false);
});

test('a 429 to a draft holds drafts alone', async () => {
  const it = start();
  it.answers.push({ ...limit, retryAfterMs: 3_000 });
  const spare = (kind: 'preview' | 'draft', chat: number) =>
    it.bestEffort.waitForPreview(kind, at(chat), signal, false);
  it.bestEffort.noteLimit('draft', await it.call('sendMessageDraft', 1));
  let isHeld = true;
  void spare('draft', 2).then(() => (isHeld = false));
  assert.equal(await spare('preview', 3), true);
  await it.pass(2_900);
  assert.equal(isHeld, true);
  await it.pass(200);
  assert.equal(isHeld, false);
});

test('where a chat has no place to spare it is left out after some moments', async () => {
  const it = start();
  const three = [1, 2, 3];
  for (const _ of three) {
    assert.deepEqual(await it.rateLimiter.admit(group, signal), { kind: 'go' });
    await it.pass(40);
  }
  it.see(group);
  await it.pass(3_000);
  assert.deepEqual(it.calls, []);
  assert.deepEqual(await it.rateLimiter.admit(group, signal), { kind: 'go' });
  await it.pass(9_000);
  assert.deepEqual(it.calls, [], 'it was left out, and does not come late');
  it.see(group);
  await it.pass(20);
  assert.deepEqual(it.calls, [`setMessageReaction ${group}`]);
});

test('eyes and "typing" take none of the places that a chat has for messages', async () => {
  const it = start();
  for (const show of [it.see, it.type, it.see, it.type]) {
    show(group);
    await it.pass(40);
  }
  assert.equal(it.calls.length, 4);
  for (const _ of it.calls) {
    assert.deepEqual(await it.rateLimiter.admit(group, signal), { kind: 'go' });
    await it.pass(40);
  }
});

test('those of many chats at once come one after the other', async () => {
  const it = start();
  const chats = [1, 2, 3, 4, 5, 6, 7, 8];
  for (const chat of chats) it.type(chat);
  await it.pass(20);
  assert.equal(it.calls.length, 1);
  await it.pass(400);
  assert.deepEqual(
    it.calls,
    chats.map((chat) => `sendChatAction ${chat}`),
  );
});

test('eyes are put once on a message, also when work on it begins again', async () => {
  await using it = await startShowing();
  const team = it.telegram.supergroup('Team');
  const work = new AbortController();
  for (const message of [7, 7, 8]) {
    it.channel.showWorking?.(it.addressOf([team.id, null, message, 1]), work.signal);
  }
  await it.until(() => it.telegram.callsOf('setMessageReaction').length === 2);
  work.abort();
  const numbers = it.telegram.callsOf('setMessageReaction').map(({ params }) => params);
  assert.deepEqual(
    numbers.map(({ message_id: number }) => number),
    [7, 8],
  );
});

test('eyes that the platform limits hold up no reply', async () => {
  await using it = await startShowing();
  const team = it.telegram.supergroup('Team');
  it.telegram.fail('setMessageReaction', { kind: 'rate-limit', retryAfterSeconds: 8 });
  const target = [team.id, null, 7, 1];
  const ending = new AbortController();
  it.channel.showWorking?.(it.addressOf(target), ending.signal);
  await it.until(() => it.telegram.callsOf('setMessageReaction').length === 1);
  await it.until(() => it.telegram.callsOf('sendChatAction').length === 1);
  ending.abort();
  assert.deepEqual(await it.deliver({ text: 'four' }), { kind: 'delivered' });
});
