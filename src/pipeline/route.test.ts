/** How private an edit is, by what is known about the message that it changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeRoute } from '../../test/fake/channel.ts';
import type { Brain } from '../brains/brain.ts';
import type { Receipt } from '../channels/channel.ts';
import type { ChannelKey, ConversationId, MessageId } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import { RecentMessages, Routing } from './route.ts';

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
const receiptOf = (duplicate = false): Receipt => {
  return { id: 'm1' as MessageId, duplicate, keyReused: false, safe: Promise.resolve() };
};
/** What this process remembers, and its routing to a brain with this sensitivity. */
const setup = (since: string | null, sensitivity: Sensitivity = 'public') => {
  const recent = new RecentMessages({ cursor: () => Promise.resolve(since) });
  const brain = { name: 'main', sensitivity } as Brain;
  const routing = new Routing(activeRoute(brain), recent);
  const take = (one: Inbound, receipt = receiptOf()): void =>
    routing.accepted(routing.route([one]), [receipt]);
  const labelOf = async (one: Inbound) => (await recent.labelEdits(channel, [one]))[0]?.sensitivity;
  return { take, labelOf };
};

test('an edit is public where this process took its message in as public', async () => {
  const it = setup(null);
  it.take(inboundOf({}));
  assert.equal(await it.labelOf(edit), 'public');
  assert.equal(await it.labelOf({ ...edit, edits: 'q2' }), 'private');
});

test('an edit is private where its message was, or was a duplicate, or came before', async () => {
  const [privately, again] = [setup(null, 'private'), setup(null)];
  privately.take(inboundOf({}));
  again.take(inboundOf({}), receiptOf(true));
  for (const it of [privately, again, setup(null)]) assert.equal(await it.labelOf(edit), 'private');
});

test('of an unknown message the time decides when it was said', async () => {
  const { labelOf } = setup('1000000');
  for (const [at, sensitivity] of [
    [1_000_000, 'private'],
    [2_000_000, 'public'],
  ] as const) {
    const one = { ...edit, saidAt: { at, stepMs: 1 } };
    assert.equal(await labelOf(one), sensitivity);
  }
  assert.equal(await labelOf(edit), 'private');
  assert.equal(await labelOf(inboundOf({})), undefined);
});

test('the oldest messages are forgotten', async () => {
  const it = setup(null);
  for (let n = 0; n <= 5_000; n++) it.take(inboundOf({ dedupeKey: `q${n}` }));
  assert.equal(await it.labelOf({ ...edit, edits: 'q0' }), 'private');
  assert.equal(await it.labelOf(edit), 'public');
});
