/** The calls that follow a press, and the messages that reach the ledger. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPolling } from '../../../test/fake/polling.ts';
import { said } from '../../../test/fake/scripted-telegram.ts';
import recorded from '../../../test/fixtures/telegram/presses.json' with { type: 'json' };

const [direct, inTopic] = recorded.map(({ query }) => query);
const pressed = (id: number, callback_query: object) => ({ update_id: id, callback_query });

test('a press is taken once, its wait ends, and in a direct chat the buttons go', async () => {
  await using it = await startPolling();
  it.telegram.push(pressed(1, direct!), pressed(2, inTopic!), said(3, 'hello'));
  it.run();
  await it.telegram.until(() => it.telegram.callsOf('answerCallbackQuery').length === 2);
  await it.telegram.until(() => it.telegram.callsOf('editMessageReplyMarkup').length === 1);
  await it.telegram.until(() => it.telegram.pending.length === 0);
  const keys = [`press:${direct!.id}`, `press:${inTopic!.id}`, '501:3'];
  assert.deepEqual(it.ledger.taken, keys);
  const answered = it.telegram.callsOf('answerCallbackQuery').map(({ params }) => params);
  const queries = [direct, inTopic].map((query) => ({ callback_query_id: query!.id }));
  assert.deepEqual(answered, queries);
  const [edit] = it.telegram.callsOf('editMessageReplyMarkup');
  assert.deepEqual(edit?.params, { chat_id: 501, message_id: 21 });
});

test('a press that comes again is a duplicate', async () => {
  await using it = await startPolling();
  it.telegram.push(pressed(1, direct!), pressed(2, direct!));
  it.run();
  await it.telegram.until(() => it.telegram.pending.length === 0);
  assert.deepEqual(it.ledger.taken, [`press:${direct!.id}`]);
  assert.deepEqual(it.ledger.repeats, it.ledger.taken);
});

test('whom the gate turns away is not answered, and takes no button away', async () => {
  await using it = await startPolling();
  it.ledger.strangers = ['501'];
  it.telegram.push(pressed(1, direct!), pressed(2, { ...direct, data: '/new' }));
  it.run();
  await it.telegram.until(() => it.telegram.pending.length === 0);
  const told = it.telegram.calls.map(({ method }) => method);
  assert.deepEqual([...new Set(told)], ['getMe', 'deleteWebhook', 'getUpdates']);
  assert.deepEqual(it.ledger.taken, []);
});

test('that Telegram refuses the answer, or gives none, holds up nothing', async () => {
  await using it = await startPolling();
  const old = { ok: false, error_code: 400, description: 'Bad Request: query is too old' } as const;
  it.telegram.plan('answerCallbackQuery', 'hang', old);
  it.telegram.plan('editMessageReplyMarkup', 'cut', old);
  it.telegram.push(pressed(1, direct!), pressed(2, { ...direct, id: '77' }), said(3, 'hello'));
  it.run();
  await it.telegram.until(() => it.telegram.pending.length === 0);
  assert.deepEqual(it.ledger.taken, [`press:${direct!.id}`, 'press:77', '501:3']);
  assert.equal(it.health.health.state, 'up');
});

test('what the ledger refused is not answered before it is taken', async () => {
  await using it = await startPolling();
  it.ledger.refusals.push({ kind: 'refused', reason: 'storage_failed', retryAfterMs: 5 });
  it.telegram.push(pressed(1, direct!));
  it.run();
  await it.telegram.until(() => it.telegram.pending.length === 0);
  await it.telegram.until(() => it.telegram.callsOf('editMessageReplyMarkup').length === 1);
  assert.equal(it.telegram.callsOf('answerCallbackQuery').length, 1);
});

test('where one message asks several things, the buttons of the others stay', async () => {
  await using it = await startPolling();
  const rows = ['4XK2M9TQ0Z', '7YB3N8WR1A'].map((code) =>
    ['approve', 'refuse'].map((word) => ({ text: word, callback_data: `/${word} ${code}` })),
  );
  const message = { ...direct!.message, reply_markup: { inline_keyboard: rows } };
  it.telegram.push(pressed(1, { ...direct, message }));
  it.run();
  await it.telegram.until(() => it.telegram.callsOf('editMessageReplyMarkup').length === 1);
  const [edit] = it.telegram.callsOf('editMessageReplyMarkup');
  assert.deepEqual(edit?.params['reply_markup'], { inline_keyboard: [rows[1]] });
});
