/** The route of each part of a message, and how private an edit is. */
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

// The parts of one message.

const second = (at: number) => ({ at: 1_700_000_000_000 + at * 1_000, stepMs: 1_000 });
const forwarded = { context: { forwardedFrom: 'Bob' } };
const album = { kind: 'album', key: 'a', ms: 1_000 } as const;
const photo = { type: 'image/jpeg', reference: 'photo' };
/** As Telegram's desktop client may cut it: soon behind the middle of 4,096 characters. */
const cutText = `/code ${'x'.repeat(2_100)}`;

/** Accepts each batch, and gives the brain of each of its messages. */
function brainsOf(...batches: readonly (readonly Partial<Inbound>[])[]): readonly string[][] {
  const [coder, main] = ['coder', 'main'].map((name) => ({ name, sensitivity: 'public' }) as Brain);
  const when = { senders: null, chats: null, topics: null, commands: ['/code', '/plan'] };
  const routes = [
    { number: 1, brain: coder!, when: { ...when, commands: ['/code'] }, description: null },
    { number: 2, brain: { ...main!, name: 'planner' }, when, description: null },
    { number: 3, brain: main!, when: null, description: null },
  ];
  const brains = new Map(routes.map(({ brain }) => [brain.name, brain]));
  const recent = new RecentMessages({ cursor: () => Promise.resolve(null) });
  const routing = new Routing(activeRoute(main!, { routes, brains }), recent);
  return batches.map((batch, place) => {
    const all = batch.map((one, at) => {
      return inboundOf({ saidAt: second(0), ...one, dedupeKey: `q${place}-${at}` });
    });
    const routed = routing.route(all);
    routing.accepted(
      routed,
      all.map(() => receiptOf()),
    );
    return routed.map(({ route }) => route!.brain);
  });
}

test('the rest of a text that was cut goes where its beginning went', () => {
  const [begun, rest] = [{ text: cutText }, { text: 'the rest', saidAt: second(2) }];
  assert.deepEqual(brainsOf([begun, rest]), [['coder', 'coder']]);
  assert.deepEqual(brainsOf([begun], [rest]), [['coder'], ['coder']]);
  for (const other of [
    { ...rest, saidAt: second(4) },
    { ...rest, media: photo },
    { ...rest, sender: { id: 'bob', name: null } },
    { ...rest, apart: 'edit' as const },
  ]) {
    assert.deepEqual(brainsOf([begun, other]), [['coder', 'main']]);
  }
  assert.deepEqual(brainsOf([begun, { ...rest, text: '/plan it' }]), [['coder', 'planner']]);
  assert.deepEqual(brainsOf([{ text: '/code it' }, rest]), [['coder', 'main']], 'it was not cut');
  const long = { ...forwarded, text: 'y'.repeat(4_096) };
  assert.deepEqual(brainsOf([{ text: '/code it' }, long, rest]), [['coder', 'coder', 'main']]);
});

test('what is forwarded goes where its comment went, or where its own command sends it', () => {
  const comment = { text: '/code what is this?' };
  const texts = ['one', '/plan two'].map((text) => ({ ...forwarded, text, saidAt: second(1) }));
  const photos = ['', ''].map((text) => ({ ...forwarded, text, gather: album, media: photo }));
  assert.deepEqual(brainsOf([comment, ...texts]), [['coder', 'coder', 'coder']]);
  assert.deepEqual(brainsOf([comment], texts), [['coder'], ['coder', 'coder']]);
  assert.deepEqual(brainsOf([comment, ...photos]), [['coder', 'coder', 'coder']]);
  assert.deepEqual(brainsOf([{ text: 'and this?' }, ...texts]), [['main', 'main', 'planner']]);
  const edit = { text: '/code else', apart: 'edit' as const, edits: 'unknown' };
  assert.deepEqual(brainsOf([edit], texts), [['coder'], ['main', 'planner']], 'an edit is none');
});

test('an album goes where the part with the command sends it, also the part that comes late', () => {
  const [part, caption] = ['', '/code look'].map((text) => ({ text, gather: album, media: photo }));
  assert.deepEqual(brainsOf([part!, caption!, part!]), [['coder', 'coder', 'coder']]);
  const late = { ...part!, saidAt: second(9) };
  assert.deepEqual(brainsOf([caption!], [late]), [['coder'], ['coder']]);
  assert.deepEqual(brainsOf([part!], [caption!, late]), [['main'], ['coder', 'coder']]);
  const other = { ...late, gather: { ...album, key: 'b' } };
  assert.deepEqual(brainsOf([caption!], [other]), [['coder'], ['main']]);
});
