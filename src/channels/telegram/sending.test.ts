/** The calls that send a reply, their rate, and the outcome of a refusal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { token } from '../../../test/fake/scripted-telegram.ts';
import { first, refusal, startSending } from '../../../test/fake/sending-telegram.ts';

test('text with entities, no preview, and in private nothing more', async () => {
  await using it = await startSending();
  assert.deepEqual(await it.send('**four**, see http://x.example'), { kind: 'delivered' });
  assert.deepEqual(it.payloads(), [
    {
      chat_id: 501,
      text: 'four, see http://x.example',
      link_preview_options: { is_disabled: true },
      entities: [{ type: 'bold', offset: 0, length: 4 }],
    },
  ]);
});

test('in a group it replies to the message, and stays in the topic', async () => {
  await using it = await startSending();
  await it.send('four', '[-100200,5,17]');
  const [{ message_thread_id, reply_parameters } = {}] = it.payloads();
  assert.equal(message_thread_id, 5);
  assert.deepEqual(reply_parameters, { message_id: 17, allow_sending_without_reply: true });
});

test('of an answer in parts only the first points at the message', async () => {
  await using it = await startSending();
  for (const id of ['r1-00', 'r1-01']) await it.send('four', '[-200,null,8]', first, undefined, id);
  const pointing = it.payloads().map(({ reply_parameters }) => reply_parameters !== undefined);
  assert.deepEqual(pointing, [true, false]);
});

const asked = ['/approve 4XK2M9TQ0Z', '/refuse 4XK2M9TQ0Z'];

test('what may be pressed stands in a row below the text', async () => {
  await using it = await startSending();
  assert.deepEqual(await it.ask(...asked), { kind: 'delivered' });
  const [approve, refuse] = asked;
  assert.deepEqual(it.payloads()[0]?.['reply_markup'], {
    inline_keyboard: [
      [
        { text: '/approve', callback_data: approve },
        { text: '/refuse', callback_data: refuse },
      ],
    ],
  });
});

test('blocked and refused are dead at once', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', refusal(403, 'Forbidden: bot was blocked by the user'));
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: chat not found'));
  const blocked = await it.send('four');
  const unknown = await it.send('four');
  assert.deepEqual([blocked.kind, unknown.kind], ['dead', 'dead']);
  assert.equal(it.payloads().length, 2);
});

test('429 holds every chat for as long as it asks', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', refusal(429, 'Too Many Requests', { retry_after: 7 }));
  const outcome = await it.send('four');
  assert.ok(outcome.kind === 'paced' && outcome.asked?.kind === 'rate_limited');
  assert.deepEqual([outcome.pauseMs, outcome.asked.status], [7_000, 429]);
  const elsewhere = await it.send('five', '[502,null,null]');
  assert.deepEqual(elsewhere, { kind: 'paced', pauseMs: 7_000, asked: null });
  assert.equal(it.payloads().length, 1);
  it.clock.pass(7_000);
  assert.deepEqual(await it.send('five', '[502,null,null]'), { kind: 'delivered' });
});

test('a chat that has had its allowance is sent away unasked, and others are not', async () => {
  await using it = await startSending({ paced: true });
  const group = '[-100200,null,null]';
  const kinds: string[] = [];
  for (let i = 0; i < 5; i++) {
    kinds.push((await it.send('four', group)).kind);
    it.clock.pass(100);
  }
  assert.deepEqual(kinds, [...Array<string>(4).fill('delivered'), 'paced']);
  assert.deepEqual(await it.send('four'), { kind: 'delivered' });
  assert.equal(it.payloads().length, 5);
});

test('what the platform said is told, and neither the token nor what was sent', async () => {
  await using it = await startSending();
  const said = async (description: string): Promise<string | undefined> => {
    it.telegram.plan('sendMessage', refusal(400, description));
    const outcome = await it.send('the code is BLUE-HERON-4471');
    assert.ok(outcome.kind === 'dead');
    assert.doesNotMatch(outcome.failure.detail, /chat|HERON/);
    return outcome.failure.said;
  };
  assert.equal(await said('Bad Request: chat not found'), 'Bad Request: chat not found');
  assert.equal(await said(`Bad Request: bot${token} may not`), 'Bad Request: bot may not');
  assert.equal(await said('Bad Request: wrong text "the code is BLUE-HERON-4471"'), undefined);
});

test('the token is in nothing that comes back', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', 'cut', { page: token, status: 502 });
  it.telegram.plan('sendMessage', refusal(400, `Bad Request: ${token}`));
  for (let i = 0; i < 3; i++) {
    const outcome = await it.send('four');
    assert.ok(!JSON.stringify(outcome).includes(token.slice(-10)));
  }
});
