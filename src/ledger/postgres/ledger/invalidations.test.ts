/** Notices of another instance, perhaps of another release: their effect, and bad ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { said } from '../../../../test/contract/ledger/kit.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { TestInstances, type TestInstance } from '../../../../test/fake/postgres/instances.ts';
import type { ChannelKey, ConversationId, MessageId } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import type { MessageOwner } from '../../../domain/story.ts';
import { steadyNow } from '../../../lib/clock.ts';
import { peersAlone } from '../../../../test/fake/peers.ts';
import type { OthersRows } from '../../engine/storage.ts';
import { WorkingSet } from '../../engine/working-set.ts';
import type { Peers } from '../../../cluster/backend.ts';
import type { Reads } from '../deps.ts';
import { History } from './history.ts';
import { Invalidations } from './invalidations.ts';

const channel = 'webhook' as ChannelKey;
const beforeId = '01m' as MessageId;
const ofAda: MessageOwner = {
  kind: 'conversation',
  channel,
  conversation: 'ada' as ConversationId,
};
const ofBob: MessageOwner = { kind: 'sender', channel, sender: 'bob' };

const nothingThere: Reads = { ask: async () => [], [Symbol.asyncDispose]: async () => {} };

/** An instance with the conversations of ada and bob in memory. */
async function remembering(peers: Peers = { ...peersAlone(), id: 1 }) {
  const rows = new WorkingSet({ now: Date.now, steady: steadyNow });
  const history = await History.open(nothingThere);
  const messages = ['ada', 'bob'].map((name) => {
    const message = { ...said(name, 'hello'), channel, id: beforeId, acceptedAt: 1 } as Message;
    history.beginsWith(message);
    return message;
  });
  const forgotten: OthersRows[] = [];
  const answered: string[] = [];
  const invalidations = new Invalidations({ peers, rows, history });
  invalidations.listen(async (theirs, replied) => {
    forgotten.push(theirs);
    answered.push(...replied);
  });
  const remembered = (): readonly string[] =>
    messages.filter((one) => history.holds(one)).map(({ conversation }) => conversation);
  const tell = (kind: string, body: unknown): Promise<void> =>
    peers.broadcast(kind, typeof body === 'string' ? body : JSON.stringify(body));
  return { rows, history, messages, invalidations, forgotten, answered, remembered, tell };
}

test('what others ask to be forgotten is, with fields unknown to this release', async () => {
  const it = await remembering();
  await it.tell('forget', { answered: [], whose: { ...ofAda, since: 1 }, beforeId, why: 'x' });
  await it.tell('forget', { whose: ofBob, beforeId, answered: ['01k'] });
  assert.deepEqual(it.forgotten, [
    { whose: ofAda, beforeId },
    { whose: ofBob, beforeId },
  ]);
  assert.deepEqual(it.answered, ['01k'], 'replies to these go, whoever they are to');
  assert.deepEqual(it.remembered(), ['ada', 'bob'], 'the rest is remembered');
});

test('of conversations that have changed nothing is remembered, of the others all', async () => {
  const it = await remembering();
  await it.tell('changed', { channel, conversations: ['ada', 'eve'], since: 1 });
  assert.deepEqual(it.remembered(), ['bob']);
});

const unreadable: readonly unknown[] = [
  '',
  '{',
  'null',
  '7',
  '[]',
  {},
  { channel },
  { channel, conversations: 'ada' },
  { channel, conversations: [{ name: 'ada' }] },
  { conversations: ['ada'] },
  { whose: ofAda, beforeId },
  { whose: ofAda, answered: [] },
  { whose: ofAda, beforeId, answered: [7] },
  { whose: null, beforeId, answered: [] },
  { whose: { kind: 'conversation', channel }, beforeId, answered: [] },
  { whose: { kind: 'sender', conversation: 'ada' }, beforeId, answered: [] },
  { whose: { kind: 'tag', channel, tag: 'x' }, beforeId, answered: [] },
];

for (const kind of ['forget', 'changed']) {
  test(`where ${kind} cannot be read, nothing is believed that was remembered`, async () => {
    for (const body of unreadable) {
      const it = await remembering();
      // One conversation has a turn at work; the history of the other one is being read.
      const row = it.rows.restoreMessage({
        head: { id: beforeId },
        channel,
        conversation: 'ada' as ConversationId,
        seq: 1,
        bytes: 1,
        sender: 'ada',
      } as unknown as Parameters<WorkingSet['restoreMessage']>[0]);
      const reading = it.history.read([it.messages[1]!]);
      await it.tell(kind, body);
      await reading;
      assert.deepEqual(it.remembered(), [], `${kind} ${JSON.stringify(body)}`);
      assert.ok(row.historyVersion < row.queue.historyVersion);
      assert.deepEqual(it.forgotten, []);
    }
  });
}

postgresTest('a release that says more, or what nobody can read, holds up no other', async () => {
  await using all = await TestInstances.open();
  const [one, other] = (await all.beginAll(2)) as [TestInstance, TestInstance];
  const [here, there] = [await remembering(one.peers), await remembering(other.peers)];
  const put = (kind: string, body: string): Promise<unknown> =>
    all.client.query('INSERT INTO svc.board (kind, body) VALUES ($1, $2)', [kind, body]);
  await put('of a later release', '{"is":"unknown"}');
  await put('changed', JSON.stringify({ channel, conversations: ['ada'], since: 1, more: {} }));
  await here.invalidations.changed(channel, []);
  assert.deepEqual([here.remembered(), there.remembered()], [['bob'], ['bob']]);
  await put('changed', '{"channel":');
  await put('forget', '');
  await here.invalidations.forget({ whose: ofAda, beforeId });
  assert.deepEqual([here.remembered(), there.remembered()], [[], []]);
  const told = [{ whose: ofAda, beforeId }];
  assert.deepEqual([here.forgotten, there.forgotten], [told, told]);
  assert.deepEqual([one.broken(), other.broken()], [null, null]);
});
