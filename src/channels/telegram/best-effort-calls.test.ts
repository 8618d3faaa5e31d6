/**
 * Best-effort calls: they take no reply's place in a chat, and a 429 to one kind stops that kind
 * alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { startShowing } from '../../../test/fake/showing-telegram.ts';
import type { BotApi, CallResult } from './bot-api.ts';
import { BestEffortCalls } from './best-effort-calls.ts';
import { createRateLimiter } from './rate-limits.ts';

const { signal } = new AbortController();
const group = -100200;
const limit = { kind: 'refused', status: 429, description: '', migrateToChat: null } as const;

function start() {
  const clock = handClock();
  const calls: string[] = [];
  const answers: CallResult[] = [];
  const done = { kind: 'done', result: true } as const;
  const call: BotApi['call'] = async (method, payload) => {
    calls.push(`${method} ${(payload as { chat_id?: number }).chat_id}`);
    return answers.shift() ?? done;
  };
  const api: BotApi = { call, sendDocument: async () => done };
  const rateLimiter = createRateLimiter(clock);
  const bestEffort = new BestEffortCalls({ api, rateLimiter, ...clock });
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
    see: (chat: number) =>
      bestEffort.offer('setMessageReaction', { chat_id: chat, message_id: 7 }, signal),
    type: (chat: number) =>
      bestEffort.offer('sendChatAction', { chat_id: chat, action: 'typing' }, signal),
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
  const { api, rateLimiter } = it.bestEffort.preview;
  assert.equal(await rateLimiter.spare(1, signal), true);
  await api.call('sendMessage', { chat_id: 1, text: 'a' }, 1_000, signal);
  let isHeld = true;
  void rateLimiter.spare(2, signal).then(() => (isHeld = false));
  assert.deepEqual(await it.rateLimiter.admit(2, signal), { kind: 'go' });
  await it.pass(7_900);
  assert.equal(isHeld, true);
  await it.pass(200);
  assert.equal(isHeld, false);
});

test('a 429 to a draft holds drafts alone', async () => {
  const it = start();
  it.answers.push({ ...limit, retryAfterMs: 3_000 });
  const { api, rateLimiter } = it.bestEffort.preview;
  await api.call('sendMessageDraft', { chat_id: 1, draft_id: 1, text: 'a' }, 1_000, signal);
  let isHeld = true;
  void rateLimiter.spare(2, signal, 'draft').then(() => (isHeld = false));
  assert.equal(await rateLimiter.spare(3, signal), true);
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
