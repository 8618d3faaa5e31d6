/** Requests of people at one instance about conversations that another one owns or remembers. */
import assert from 'node:assert/strict';
import {
  accept,
  answer,
  deliver,
  deliverAll,
  effects,
  exchange,
  hook,
  noneIn,
  noneOut,
  said,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { count } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import {
  comesIn,
  comesOut,
  TestStores,
  type TestStore,
} from '../../../../test/fake/postgres/stores.ts';
import { failure } from '../../../domain/failure.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import type { MessageOwner } from '../../../domain/story.ts';

const why = failure('server_error');
const ann: MessageOwner = {
  kind: 'conversation',
  channel: hook,
  conversation: 'ann' as ConversationId,
};

/** Makes a message a dead letter that has left a turn. @returns its id */
async function buryMessage(store: TestStore, text: string): Promise<string> {
  await accept(store, said('ann', text));
  const claim = await comesIn(store);
  const left = { turn: { ...effects(claim, []).turn!, reply: null } };
  assert.equal(await store.ledger.deadLetter(claim, why, effects(claim, [], left)), true);
  return claim.message.id;
}

const seen = (claim: { readonly memory: { readonly turns: readonly { text: string }[] } }) =>
  claim.memory.turns.map(({ text }) => text);

postgresTest('a message that is replayed elsewhere comes behind what is here', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  const id = await buryMessage(one, 'dead');
  await accept(one, said('ann', 'second'));
  const second = await comesIn(one);
  assert.deepEqual(seen(second), ['dead']);
  assert.equal(await other.ledger.replay(id), 'done');
  await noneIn(other);
  await accept(one, said('ann', 'third'));
  await answer(one, second);
  const again = await comesIn(one);
  assert.equal(again.message.id, id);
  assert.deepEqual(seen(again), ['second'], 'its burial left nothing');
  await answer(one, again);
  const third = await comesIn(one);
  assert.deepEqual([third.message.text, ...seen(third)], ['third', 'second', 'dead']);
});

postgresTest('what is replayed here comes behind what has come elsewhere before it', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  const id = await buryMessage(one, 'dead');
  await accept(one, said('ann', 'first'));
  const first = await comesIn(one);
  await accept(other, said('ann', 'second'));
  assert.equal(await one.ledger.replay(id), 'done');
  await answer(one, first);
  for (const text of ['second', 'dead']) {
    const next = await comesIn(one);
    assert.equal(next.message.text, text);
    await answer(one, next);
  }
});

postgresTest(
  'where a queue is let go, too, nothing is remembered that a replay took back',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    const id = await buryMessage(one, 'dead');
    await all.owned('ann', null);
    // Only the first instance may take it.
    other.ledger.serve([]);
    assert.equal(await other.ledger.replay(id), 'done');
    const again = await comesIn(one);
    assert.equal(again.message.id, id);
    assert.deepEqual(seen(again), []);
  },
);

postgresTest(
  'a reply that is replayed elsewhere is sent by the one that has the queue',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    await exchange(one, 'ann', 'hello', 'dead');
    const reply = await comesOut(one);
    await one.ledger.deadLetter(reply, why);
    await accept(one, said('ann', 'second'));
    const second = await comesIn(one);
    assert.equal(await other.ledger.replay(reply.reply.id), 'done');
    await noneOut(other);
    await answer(one, second, 'to the second');
    const texts: string[] = [];
    await until('both are sent', async () => {
      texts.push(...(await deliverAll(one)), ...(await deliverAll(other)));
      return texts.length >= 2;
    });
    assert.deepEqual(texts, ['to the second', 'dead']);
    await all.owned('ann', null);
  },
);

postgresTest(
  'it is not passed over where the next message has come before it was seen',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    await exchange(one, 'ann', 'hello', 'dead');
    const reply = await comesOut(one);
    await one.ledger.deadLetter(reply, why);
    await accept(one, said('ann', 'second'));
    const second = await comesIn(one);
    assert.equal(await other.ledger.replay(reply.reply.id), 'done');
    await accept(one, said('ann', 'third'));
    await answer(one, second);
    await answer(one, await comesIn(one));
    const texts: string[] = [];
    await until('it is sent', async () => {
      texts.push(...(await deliverAll(one)), ...(await deliverAll(other)));
      return texts.length > 0;
    });
    assert.deepEqual(texts, ['dead']);
  },
);

postgresTest('what is at work elsewhere loses its claim when it is forgotten', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await exchange(one, 'ann', 'hello', 'hi', 'how are you?');
  const reply = await comesOut(one);
  await accept(one, said('ann', 'in hand'), said('ann', 'behind'), said('bob', 'stays'));
  const [claim, bob] = [await comesIn(one), await comesIn(one)];
  assert.equal(await other.ledger.forget(ann), 6, 'three messages, two replies, a turn');
  assert.deepEqual([claim.stop.signal.aborted, reply.stop.signal.aborted], [true, true]);
  assert.equal(bob.stop.signal.aborted, false);
  assert.equal(await one.ledger.complete(claim, effects(claim, ['late'])), false);
  assert.equal(await one.ledger.delivered(reply), false);
  await noneIn(one);
  await noneOut(one);
  for (const table of ['inbox', 'message', 'turn', 'outbox', 'sent'] as const) {
    const left = table === 'inbox' ? 1 : 0;
    assert.equal(await count(all.client, table), left, table);
  }
  assert.equal(one.ledger.gauges().bytesHeld > 0, true, 'bob');
  await answer(one, bob);
  assert.equal(one.ledger.gauges().bytesHeld, 0);
});

postgresTest('a turn that ends while it is forgotten elsewhere leaves nothing', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  for (let round = 0; round < 5; round++) {
    await accept(one, said('ann', `message ${round}`));
    const claim = await comesIn(one);
    const ended = one.ledger.complete(claim, effects(claim, ['one', 'two']));
    const forgotten = other.ledger.forget(ann);
    await ended;
    assert.ok((await forgotten) > 0);
    for (const table of ['inbox', 'message', 'turn', 'outbox', 'sent'] as const) {
      assert.equal(await count(all.client, table), 0, `${table}, ${round}`);
    }
    await noneOut(one);
    await noneOut(other);
  }
});

postgresTest(
  'who has worked a conversation before remembers nothing that was forgotten',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    await exchange(one, 'ann', 'hello', 'hi');
    await deliver(one, await comesOut(one));
    await all.owned('ann', null);
    assert.equal(await other.ledger.forget(ann), 3, 'a message, a reply, a turn');
    await accept(one, said('ann', 'anew'));
    const claim = await comesIn(one);
    assert.deepEqual(seen(claim), []);
    assert.equal(claim.memory.empty, true);
  },
);

postgresTest('of a sender replies go, too, of which it is not known whose they are', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await exchange(one, 'ann', 'hello', 'to ann');
  await exchange(one, 'bob', 'hello', 'to bob');
  // The instance that takes them over knows of no message to them.
  await one.close();
  await until('it has them', () => other.ledger.gauges().outboxWaiting === 2);
  const third = await all.begin();
  const whose: MessageOwner = { kind: 'sender', channel: hook, sender: 'sender of ann' };
  const claims = [await comesOut(other), await comesOut(other)];
  const stopped = (): readonly string[] =>
    claims.flatMap(({ reply, stop }) => (stop.signal.aborted ? [reply.text] : []));
  assert.deepEqual(stopped(), []);
  assert.equal(await third.ledger.forget(whose), 3);
  assert.deepEqual(stopped(), ['to ann']);
  await deliver(
    other,
    claims.find(({ reply }) => reply.text === 'to bob')!,
  );
  assert.equal(await count(all.client, 'outbox'), 0);
});

postgresTest('a message that comes while its conversation is deleted keeps its place', async () => {
  await using all = await TestStores.open();
  const one = await all.begin();
  await exchange(one, 'ann', 'hello');
  await all.owned('ann', null);
  // As another instance accepts a message: its queue first, then the message.
  const client = await all.another();
  await client.query('BEGIN');
  await client.query('UPDATE svc.lane SET tail = tail + 1, waits = 2');
  const forgotten = one.ledger.forget(ann);
  await until('it comes to the lane', async () => (await all.waiting()) > 0);
  await client.query(
    'INSERT INTO svc.inbox (id, channel, conversation, n, accepted_at, sender, private, body) ' +
      "SELECT repeat('z', 22), channel, conversation, tail, 1, 'ann', false, " +
      `'{"sender":{"id":"ann","name":null},"text":"new","media":null,"target":"x"}' FROM svc.lane`,
  );
  await client.query('COMMIT');
  await forgotten;
  assert.equal((await all.queue('ann'))?.tail, 2);
  assert.equal((await comesIn(one)).message.text, 'new');
});
