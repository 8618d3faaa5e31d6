/** How queues change hands: when they are released, who takes them, what lost answers do. */
import assert from 'node:assert/strict';
import {
  accept,
  answer,
  deliver,
  deliverAll,
  exchange,
  hook,
  ids,
  noneIn,
  other as bot,
  said,
  takeIn,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { comesIn, comesOut, TestStores } from '../../../../test/fake/postgres/stores.ts';
import { completionsChannel } from '../../../domain/ids.ts';
import { aborted } from '../../../lib/stop.ts';

postgresTest('a queue is let go when nothing of it is in hand, and not before', async () => {
  await using all = await TestStores.open();
  const [one] = await all.beginTwo();
  await accept(one, said('ann', 'hello'));
  const claim = await comesIn(one);
  assert.equal((await all.queue('ann'))?.owner, one.id);
  await answer(one, claim, 'hi');
  const reply = await comesOut(one);
  assert.equal((await all.queue('ann'))?.owner, one.id);
  await deliver(one, reply);
  await all.owned('ann', null);
  assert.equal((await all.queue('ann'))?.waits, 0);
});

postgresTest('where a queue is locked just then it is let go later', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await accept(one, said('ann', 'hello'));
  const claim = await comesIn(one);
  const client = await all.another();
  await client.query("BEGIN; SELECT FROM svc.lane WHERE conversation = 'ann' FOR UPDATE");
  await answer(one, claim);
  // Another batch goes meanwhile, without delay.
  await exchange(one, 'bob', 'hello');
  await all.owned('bob', null);
  assert.equal((await all.queue('ann'))?.owner, one.id);
  await client.query('COMMIT');
  await all.owned('ann', null);
  await exchange(other, 'ann', 'hello again');
});

postgresTest('what is another instance’s by now is let go without a word', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await accept(one, said('ann', 'hello'));
  const claim = await comesIn(one);
  await all.client.query('UPDATE svc.lane SET owner = $1, epoch = epoch + 1', [other.id]);
  await answer(one, claim);
  // It tries some twenty releases, and then asks for the owner.
  await until('it has nothing in hand', () => one.ledger.gauges().commitsPending === 0);
  await exchange(one, 'bob', 'hello');
  await all.owned('bob', null);
  assert.equal((await all.queue('ann'))?.owner, other.id);
  assert.deepEqual([one.fault(), other.fault()], [null, null]);
});

postgresTest('what one has no room for is taken by another that has', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo({ limits: { heldMax: 2 } }, {});
  await accept(one, said('a', 'of a'));
  await accept(one, said('b', 'of b'));
  // A take that began while there was room takes all that waits when it reaches the server.
  await until('nothing is under way', () => one.ledger.gauges().commitsPending === 0);
  for (const name of ['c', 'd', 'e']) await accept(one, said(name, `of ${name}`));
  assert.equal(one.ledger.gauges().inboxWaiting, 2);
  await until('the others are there', () => other.ledger.gauges().inboxWaiting === 3);
  const texts = [];
  for (let n = 0; n < 3; n++) texts.push((await comesIn(other)).message.text);
  assert.deepEqual(texts.toSorted(), ['of c', 'of d', 'of e']);
});

postgresTest('what nobody has room for waits, and is taken when there is', async () => {
  await using all = await TestStores.open();
  const one = await all.begin({ limits: { heldMax: 1 } });
  await accept(one, said('ann', 'first'));
  await accept(one, said('bob', 'second'));
  assert.deepEqual(await all.queue('bob').then((queue) => [queue?.owner, queue?.waits]), [null, 2]);
  const first = await comesIn(one);
  await noneIn(one);
  await answer(one, first);
  assert.equal((await comesIn(one)).message.text, 'second');
});

postgresTest('a close gives all queues back at once, with what lies in them', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await accept(one, said('ann', 'in hand'), said('bob', 'waits'), said('ann', 'behind'));
  await comesIn(one);
  await one.close();
  const queues = [await all.queue('ann'), await all.queue('bob')];
  const isFree = (queue: (typeof queues)[0]): boolean => queue?.owner !== one.id;
  assert.ok(queues.every(isFree));
  const claims = [await comesIn(other), await comesIn(other)];
  const told = claims.map(({ message, attempt }) => `${message.text} ${attempt}`);
  assert.deepEqual(told.toSorted(), ['in hand 1', 'waits 1']);
});

postgresTest('a close does not take back what it gives, though it was about to take', async () => {
  await using all = await TestStores.open();
  const [one] = await all.beginTwo({}, { limits: { heldMax: 0 } });
  await accept(one, said('ann', 'hello'));
  await until('nothing is under way', () => one.ledger.gauges().commitsPending === 0);
  // It looks for waiting rows.
  one.ledger.serve([hook]);
  await one.close();
  const { owner, waits } = (await all.queue('ann'))!;
  assert.deepEqual([owner, waits], [null, 2]);
});

postgresTest('a drain leaves what is not in hand to others, which go on with it', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await accept(one, said('ann', 'in hand'), said('ann', 'behind'), said('bob', 'waits'));
  const [claim] = await takeIn(one);
  assert.equal(claim?.message.text, 'in hand');
  one.ledger.closeIntake();
  assert.equal((await comesIn(other)).message.text, 'waits');
  await noneIn(one);
  await noneIn(other);
  await answer(one, claim, 'the last one');
  const reply = await comesOut(other);
  assert.equal(reply.reply.text, 'the last one');
  assert.equal(reply.possibleDuplicate, false);
  const behind = await comesIn(other);
  assert.deepEqual([behind.message.text, behind.attempt], ['behind', 1]);
  assert.equal(behind.memory.turns.length, 1);
});

postgresTest('what one does not serve any more is left to others', async () => {
  await using all = await TestStores.open();
  const [janitor, one] = await all.beginTwo();
  await accept(one, said('ann', 'hello'));
  one.ledger.serve([]);
  assert.equal((await comesIn(janitor)).message.text, 'hello');
});

postgresTest('so it is with what it takes when it does not serve it any more', async () => {
  await using all = await TestStores.open();
  const [, one] = await all.beginTwo({ limits: { heldMax: 0 } }, {});
  await exchange(one, 'ann', 'hello');
  await all.owned('ann', null);
  const { epoch } = (await all.queue('ann'))!;
  const goOn = await all.holdUpTakes();
  const client = await all.another();
  await client.query('BEGIN; UPDATE svc.lane SET tail = 2, waits = 2');
  await put(client, 'inbox', { id: ids.message(), n: 2 });
  await client.query('COMMIT');
  await until('it is being taken', async () => (await all.waiting()) > 0);
  one.ledger.serve([]);
  await goOn();
  await until('it is free again', async () => {
    const queue = (await all.queue('ann'))!;
    return queue.epoch > epoch && queue.owner === null && queue.waits === 2;
  });
});

postgresTest('queues of a messenger are worked where its lease is', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  const end = new AbortController();
  let isHeld = false;
  const holding = other.peers.withLease(
    bot,
    async (stop) => {
      isHeld = true;
      await aborted(stop);
    },
    end.signal,
  );
  await until('the post is held', () => isHeld);
  for (const { ledger } of [one, other]) ledger.serve([hook, bot]);
  const queue = { channel: bot, conversation: 'ann' };
  await put(all.client, 'lane', { ...queue, tail: 2, waits: 2 });
  await put(all.client, 'inbox', { ...queue }, { ...queue, id: idOf(2), n: 2 });
  const claim = await comesIn(other, bot);
  assert.equal(claim.message.id, idOf(1));
  await noneIn(one, bot);
  // The lease goes to the other instance, and with it the rows that are not in hand.
  end.abort();
  await holding;
  const last = new AbortController();
  void one.peers.withLease(bot, aborted, last.signal);
  await until('it has the post', () => one.peers.holds(bot));
  await until('what waits is let go', () => other.ledger.gauges().inboxWaiting === 0);
  await noneIn(one, bot);
  await answer(other, claim);
  assert.equal((await comesIn(one, bot)).message.id, idOf(2));
  await noneIn(other, bot);
  last.abort();
});

for (const what of ['message', 'reply that is due'] as const) {
  postgresTest(`no lane is lost with the answer to who took it for a ${what}`, async () => {
    await using all = await TestStores.open();
    // By the clock of these instances no row has lain for long.
    const both = await all.beginTwo({ now: () => Date.now() - 86_400_000 });
    const goOn = await all.holdUpTakes();
    const isReply = what !== 'message';
    if (isReply)
      await put(all.client, 'outbox', { id: `${ids.reply()}-00`, parked: true, due_at: 1 });
    else await put(all.client, 'inbox', { id: ids.message() });
    await put(all.client, 'lane', { waits: isReply ? 1 : 2 });
    await until('one takes it', async () => (await all.waiting()) > 0);
    for (const { way } of both) way.hold();
    await goOn();
    await until('it is taken', async () => (await all.queue('ann'))?.owner !== null);
    const owned = await all.queue('ann');
    const owner = both.find(({ id }) => id === owned?.owner)!;
    for (const { way } of both) {
      way.cut();
      way.release();
    }
    if (isReply) assert.equal((await comesOut(owner)).reply.text, 'hello');
    else assert.equal((await comesIn(owner)).message.text, 'hi');
    assert.deepEqual(
      both.map(({ fault }) => fault()),
      [null, null],
    );
  });
}

postgresTest(
  'a queue whose letting go was undone by a crash is found by what lies in it',
  async () => {
    await using all = await TestStores.open();
    // By the clock of this instance every row has lain for long.
    const [one, other] = await all.beginTwo({ now: () => Date.now() + 60_000 }, {});
    await exchange(one, 'ann', 'hello');
    await all.owned('ann', null);
    await all.client.query('UPDATE svc.lane SET owner = $1', [one.id]);
    await accept(other, said('ann', 'again'));
    await noneIn(other);
    assert.equal((await comesIn(one)).message.text, 'again');
  },
);

postgresTest('such a queue is read before its next message is worked', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await exchange(one, 'ann', 'hello');
  await all.owned('ann', null);
  await all.client.query('UPDATE svc.lane SET owner = $1', [one.id]);
  await accept(other, said('ann', 'second'));
  await accept(one, said('ann', 'third'));
  const second = await comesIn(one);
  assert.equal(second.message.text, 'second');
  await noneIn(one);
  await answer(one, second);
  assert.equal((await comesIn(one)).message.text, 'third');
});

postgresTest('a conversation that was forgotten, and begins anew, is another one', async () => {
  await using all = await TestStores.open();
  const one = await all.begin();
  for (let round = 0; round < 3; round++) {
    await exchange(one, 'ann', 'hello', 'hi');
    await deliverAll(one);
    const whose = { kind: 'conversation', channel: hook, conversation: 'ann' } as never;
    assert.equal(await one.ledger.forget(whose), 3, 'a message, a reply, a turn');
    assert.equal(await all.queue('ann'), null);
    await accept(one, said('ann', 'anew'));
    const claim = await comesIn(one);
    assert.deepEqual(claim.memory.turns, []);
    assert.equal(claim.memory.previousAt, null);
    await answer(one, claim);
    await one.ledger.forget(whose);
  }
});

const api = completionsChannel;

postgresTest('an API request stays where its client waits, also without room there', async () => {
  await using all = await TestStores.open();
  const [one] = await all.beginTwo({ limits: { heldMax: 0 } }, {});
  one.ledger.serve([hook, api]);
  await accept(one, said('r1', 'hello', { channel: api }));
  assert.equal((await comesIn(one, api)).message.text, 'hello');
});

postgresTest('a drain leaves the reply to an API request where its client waits', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  for (const { ledger } of [one, other]) ledger.serve([hook, api]);
  await accept(one, said('r1', 'hello', { channel: api }), said('ann', 'waits'));
  const claim = await comesIn(one, api);
  one.ledger.closeIntake();
  assert.equal((await comesIn(other)).message.text, 'waits');
  await answer(one, claim, 'the answer');
  const { reply } = await comesOut(one, api);
  assert.equal(reply.text, 'the answer');
});
