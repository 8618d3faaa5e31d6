import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exchange, post, startWebhook, type Answer } from '../../../test/fake/webhook.ts';

type Json = Record<string, unknown>;
const jsonOf = ({ body }: Answer): Json => JSON.parse(body) as Json;

const order = { sender_id: 'ann', text: 'hello', conversation_id: '7', media_url: 'https://x/y' };

async function send(port: number, body: Json | string, header = 'webhook-id'): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (await exchange(port, post(text, { [header]: 'order-1001' })))[0]!;
}

test('an id of one sender or conversation is another in the hands of another', async () => {
  await using webhook = await startWebhook();
  const senders = [
    order,
    { ...order, sender_id: 'bob' },
    { ...order, conversation_id: '8' },
    // If joined without a separator, these would give the same key.
    { ...order, conversation_id: '7"', sender_id: 'ann' },
    { ...order, conversation_id: '7', sender_id: '","ann' },
    { ...order, conversation_id: '7","ann', sender_id: 'ann' },
  ];
  for (const one of senders) {
    const answer = jsonOf(await send(webhook.port, one));
    assert.equal(answer['status'], 'accepted');
    assert.equal('duplicate' in answer, false);
  }
  assert.equal(webhook.accept.messages.length, senders.length);
});

test('a resend is known by its fields, not by its bytes', async () => {
  await using webhook = await startWebhook();
  const first = jsonOf(await send(webhook.port, order));
  const same: readonly (Json | string)[] = [
    order,
    JSON.stringify(order, null, 2),
    { text: 'hello', media_url: 'https://x/y', conversation_id: '7', sender_id: 'ann' },
    { ...order, sent_at: 'later', try: 2 },
    { ...order, sender_name: null, media_type: '' },
    JSON.stringify(order).replace('hello', '\\u0068ello'),
  ];
  for (const body of same) {
    assert.deepEqual(jsonOf(await send(webhook.port, body)), { ...first, duplicate: true });
  }
  const asNumber = jsonOf(await send(webhook.port, { ...order, conversation_id: 7 }));
  assert.deepEqual(asNumber, { ...first, conversation_id: 7, duplicate: true });
  assert.equal(webhook.accept.messages.length, 1);
});

test('an id that comes with other fields is 409, and what was said first stays known', async () => {
  await using webhook = await startWebhook();
  const first = jsonOf(await send(webhook.port, order));
  const others = [
    { ...order, text: 'Hello' },
    { ...order, sender_name: 'Ann' },
    { ...order, media_url: 'https://x/z' },
    { ...order, media_type: 'image/png' },
    { ...order, media_url: null },
    { ...order, text: '' },
  ];
  for (const other of others) {
    for (const header of ['webhook-id', 'idempotency-key']) {
      const answer = await send(webhook.port, other, header);
      assert.equal(answer.headers.get('content-type'), 'application/problem+json');
      const { status, code, detail } = jsonOf(answer);
      assert.deepEqual([answer.status, status, code], [409, 409, 'id_reused']);
      assert.match(String(detail), new RegExp(`^The ${header} .* Give every message an id of its`));
    }
  }
  assert.deepEqual(jsonOf(await send(webhook.port, order)), { ...first, duplicate: true });
  assert.equal(webhook.accept.messages.length, 1);
  const refused = webhook.calls.filter(([event]) => event === 'messageRefused');
  assert.equal(refused.length, others.length * 2);
});

test('what is kept of a key is short, and tells nothing of what was said', async () => {
  await using webhook = await startWebhook();
  const long = 'canary'.repeat(170);
  const body = { sender_id: long, text: long.repeat(100), conversation_id: `${long}2` };
  assert.equal((await send(webhook.port, body)).status, 200);
  const { dedupeKey, keyCheck } = webhook.accept.messages[0]!;
  const kept = `${dedupeKey} ${keyCheck?.fingerprint}`;
  assert.ok(kept.length < 100);
  assert.doesNotMatch(kept, /canary/);
});
