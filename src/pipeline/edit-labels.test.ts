/** How private an edit is, by what is known about the message that it changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReceiveResult } from '../channels/channel.ts';
import type { ChannelKey, ConversationId, MessageId } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import { EditLabels } from './quoted-message.ts';

const channel = 'messenger_a:77' as ChannelKey;
const inboundOf = (more: Partial<Inbound>): Inbound => ({
  channel,
  conversation: 'ann' as ConversationId,
  sender: { id: 'ann', name: null },
  text: 'hello',
  media: null,
  address: { channel, target: 'ann' },
  dedupeKey: 'q1',
  setting: 'direct',
  ...more,
});
const edit = inboundOf({ dedupeKey: 'edit:q1', apart: 'edit', edits: 'q1' });
const taken = (duplicate = false): ReceiveResult => {
  const receipt = { id: 'm1' as MessageId, duplicate, keyReused: false, safe: Promise.resolve() };
  return { kind: 'accepted', receipts: [receipt] };
};
const labels = (since: string | null) => new EditLabels({ cursor: () => Promise.resolve(since) });
const labelOf = async (it: EditLabels, one: Inbound) => (await it.label(channel, [one]))[0];

test('an edit is public where this process took its message in as public', async () => {
  const it = labels(null);
  it.accepted([inboundOf({})], taken(), 'public');
  assert.equal((await labelOf(it, edit))?.sensitivity, 'public');
  assert.equal((await labelOf(it, { ...edit, edits: 'q2' }))?.sensitivity, 'private');
});

test('an edit is private where its message was, or was turned away, or came before', async () => {
  const away: ReceiveResult = { kind: 'accepted', receipts: [null] };
  const full: ReceiveResult = { kind: 'refused', reason: 'full', retryAfterMs: 1 };
  for (const [handled, sensitivity] of [
    [taken(), 'private'],
    [taken(true), 'public'],
    [away, 'public'],
    [full, 'public'],
  ] as const) {
    const it = labels(null);
    it.accepted([inboundOf({})], handled, sensitivity);
    assert.equal((await labelOf(it, edit))?.sensitivity, 'private');
  }
});

test('of an unknown message the time decides when it was said', async () => {
  const it = labels('1000000');
  for (const [at, sensitivity] of [
    [1_000_000, 'private'],
    [2_000_000, 'public'],
  ] as const) {
    const one = { ...edit, saidAt: { at, stepMs: 1 } };
    assert.equal((await labelOf(it, one))?.sensitivity, sensitivity);
  }
  assert.equal((await labelOf(it, edit))?.sensitivity, 'private');
  assert.equal((await labelOf(it, inboundOf({})))?.sensitivity, undefined);
});

test('the oldest messages are forgotten', async () => {
  const it = labels(null);
  for (let n = 0; n <= 5_000; n++)
    it.accepted([inboundOf({ dedupeKey: `q${n}` })], taken(), 'public');
  assert.equal((await labelOf(it, { ...edit, edits: 'q0' }))?.sensitivity, 'private');
  assert.equal((await labelOf(it, edit))?.sensitivity, 'public');
});
