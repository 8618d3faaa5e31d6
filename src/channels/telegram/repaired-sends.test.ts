/** Refusals after which svc sends a reply once more, without the refused part. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, startSending } from '../../../test/fake/sending-telegram.ts';

test('refused entities cost the formatting, never the answer', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', refusal(400, "Bad Request: can't parse entities: x"));
  assert.deepEqual(await it.send('**four**'), { kind: 'delivered' });
  const [, plain] = it.payloads();
  assert.equal(plain?.['text'], '**four**');
  assert.equal(plain?.['entities'], undefined);
});

test('a topic that is gone is left out once', async () => {
  await using it = await startSending();
  const gone = refusal(400, 'Bad Request: message thread not found');
  it.telegram.plan('sendMessage', gone);
  assert.equal((await it.send('four', '[-100200,5,17]')).kind, 'delivered');
  assert.equal(it.payloads()[1]?.['message_thread_id'], undefined);
  it.telegram.plan('sendMessage', gone, gone);
  assert.equal((await it.send('four', '[-100200,5,17]')).kind, 'dead');
  assert.equal(it.payloads().length, 4);
});

// TediCross#243, BetterForward#58: a server that still remembers the topic says so.
test('a topic that is deleted is left out, and a closed one keeps the reply out', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: TOPIC_DELETED'));
  assert.equal((await it.send('four', '[-100200,5,17]')).kind, 'delivered');
  assert.equal(it.payloads()[1]?.['message_thread_id'], undefined);
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: TOPIC_CLOSED'));
  assert.equal((await it.send('four', '[-100200,5,17]')).kind, 'dead');
  assert.equal(it.payloads().length, 3);
});

test('a group that became a supergroup is found there', async () => {
  await using it = await startSending();
  const moved = refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
    migrate_to_chat_id: -100200,
  });
  it.telegram.plan('sendMessage', moved);
  assert.equal((await it.send('four', '[-200,null,8]')).kind, 'delivered');
  const [, again] = it.payloads();
  assert.deepEqual([again?.['chat_id'], again?.['reply_parameters']], [-100200, undefined]);
});

test('where a group has had its allowance, what is mended waits for its place', async () => {
  await using it = await startSending({ paced: true });
  const group = '[-100200,5,null]';
  for (let i = 0; i < 3; i++) {
    await it.send('four', group);
    it.clock.pass(100);
  }
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: message thread not found'));
  const sending = it.send('five', group);
  await it.telegram.until(() => it.payloads().length === 4);
  let passedMs = 0;
  await it.telegram.until(() => {
    if (passedMs < 5_000) it.clock.pass(100);
    passedMs += 100;
    return it.payloads().length === 5;
  });
  assert.deepEqual(await sending, { kind: 'delivered' });
});

test('older servers have other words for a question that was deleted', async () => {
  await using it = await startSending();
  // tdlib/telegram-bot-api#469, aiogram#447
  for (const words of ['replied message not found', 'Reply message not found']) {
    it.telegram.plan('sendMessage', refusal(400, `Bad Request: ${words}`));
    assert.deepEqual(await it.send('four', '[-100200,5,17]'), { kind: 'delivered' }, words);
  }
});

test('a question that was deleted costs the reference, not the reply', async () => {
  await using it = await startSending();
  const gone = refusal(400, 'Bad Request: message to be replied not found');
  it.telegram.plan('sendMessage', gone);
  assert.deepEqual(await it.send('four', '[-100200,5,17]'), { kind: 'delivered' });
  const sent = it.payloads().map((one) => [one['message_thread_id'], 'reply_parameters' in one]);
  assert.deepEqual(sent, [
    [5, true],
    [5, false],
  ]);
  // A call without an answer is no reason to send again.
  it.telegram.plan('sendMessage', gone);
  assert.equal((await it.send('four')).kind, 'dead');
  assert.equal(it.payloads().length, 3);
});

const asked = ['/approve 4XK2M9TQ0Z', '/refuse 4XK2M9TQ0Z'];

test('where a button is too long, or refused, the text stands alone', async () => {
  await using it = await startSending();
  assert.deepEqual(await it.ask('/approve 4XK2M9TQ0Z', 'x'.repeat(65)), { kind: 'delivered' });
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: BUTTON_DATA_INVALID'));
  assert.deepEqual(await it.ask(...asked), { kind: 'delivered' });
  const sent = it.payloads().map(({ text, reply_markup }) => [text, reply_markup !== undefined]);
  assert.deepEqual(sent, [
    ['May I?', false],
    ['May I?', true],
    ['May I?', false],
  ]);
});

test('a keyboard that Telegram cannot parse costs the buttons alone', async () => {
  await using it = await startSending();
  const words = "Bad Request: can't parse inline keyboard button: Text buttons are unallowed";
  it.telegram.plan('sendMessage', refusal(400, words));
  assert.deepEqual(await it.ask(...asked), { kind: 'delivered' });
  const sent = it.payloads().map(({ reply_markup, entities }) => {
    return [reply_markup !== undefined, entities !== undefined];
  });
  assert.deepEqual(sent, [
    [true, true],
    [false, true],
  ]);
});
