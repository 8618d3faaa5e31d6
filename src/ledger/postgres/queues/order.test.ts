/** A conversation with messages at several instances is worked in the order of their numbers. */
import assert from 'node:assert/strict';
import {
  accept,
  answer,
  deliverAll,
  effects,
  exchange,
  hook,
  ids,
  noneIn,
  said,
  takeIn,
  takeOut,
  turns,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { put } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { comesIn, comesOut, TestStores } from '../../../../test/fake/postgres/stores.ts';

postgresTest('what another instance accepts in between is worked in its place', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await accept(one, said('ann', 'first'));
  const claim = await comesIn(one);
  await accept(other, said('ann', 'second'));
  // The gap before it shows that another instance has accepted a message.
  await accept(one, said('ann', 'third'));
  await noneIn(one);
  await noneIn(other);
  await answer(one, claim, 'to the first');
  for (const text of ['second', 'third']) {
    const next = await comesIn(one);
    assert.equal(next.message.text, text);
    assert.equal(next.attempt, 1);
    await noneIn(other);
    await answer(one, next, `to the ${text}`);
  }
  assert.deepEqual(await deliverAll(one), ['to the first', 'to the second', 'to the third']);
  assert.equal(other.ledger.gauges().inboxWaiting, 0);
});

postgresTest('a queue to which another instance has added is not let go before that', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await accept(one, said('ann', 'first'));
  const claim = await comesIn(one);
  await accept(other, said('ann', 'second'), said('ann', 'third'));
  const { epoch } = (await all.queue('ann'))!;
  await answer(one, claim);
  for (const text of ['second', 'third']) {
    const next = await comesIn(one);
    assert.equal(next.message.text, text);
    await answer(one, next);
  }
  await all.owned('ann', null);
  assert.equal((await all.queue('ann'))!.epoch, epoch, 'nobody else has had it in between');
});

postgresTest('very many that come in at two instances are worked in one order', async () => {
  await using all = await TestStores.open();
  const both = await all.beginTwo();
  const worked: string[] = [];
  let left = 120;
  const work = async ({ ledger }: (typeof both)[0]): Promise<void> => {
    while (left > 0) {
      for (const claim of await ledger.claim('in', hook, 10)) {
        worked.push(claim.message.text);
        left--;
        await ledger.complete(claim, effects(claim, []));
      }
      await turns(10);
    }
  };
  const come = async (): Promise<void> => {
    for (let n = 0; n < 120; n++) await accept(both[n % 2]!, said('ann', String(n)));
  };
  await Promise.all([come(), ...both.map(work)]);
  assert.deepEqual(
    worked,
    Array.from({ length: 120 }, (_, n) => String(n)),
  );
});

postgresTest('who takes a queue sees what the one before has made of it', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await exchange(one, 'ann', 'hello', 'hi');
  await deliverAll(one);
  await all.owned('ann', null);
  await accept(other, said('ann', 'again'));
  const second = await comesIn(other);
  assert.deepEqual(
    second.memory.turns.map(({ text, reply }) => [text, reply]),
    [['hello', 'hi']],
  );
  await answer(other, second, 'yes?');
  await deliverAll(other);
  await all.owned('ann', null);
  await accept(one, said('ann', 'bye'));
  const third = await comesIn(one);
  assert.deepEqual(
    third.memory.turns.map(({ text }) => text),
    ['hello', 'again'],
    'not what it remembers of before',
  );
  assert.equal(third.memory.previousAt, second.message.acceptedAt);
});

postgresTest('so it is where the one before took it for what waited in it', async () => {
  await using all = await TestStores.open();
  const [janitor, one] = await all.beginTwo();
  await exchange(one, 'ann', 'hello');
  await all.owned('ann', null);
  // Only the janitor takes waiting rows.
  one.ledger.serve([]);
  const client = await all.another();
  await client.query('BEGIN; UPDATE svc.lane SET tail = 2, waits = 2');
  await put(client, 'inbox', { id: ids.message(), n: 2 });
  await client.query('COMMIT');
  const second = await comesIn(janitor);
  await answer(janitor, second);
  await all.owned('ann', null);
  one.ledger.serve([hook]);
  await accept(one, said('ann', 'bye'));
  const third = await comesIn(one);
  assert.deepEqual(
    third.memory.turns.map(({ text }) => text),
    ['hello', second.message.text],
  );
});

postgresTest('a queue that nobody else has had in between is remembered', async () => {
  await using all = await TestStores.open();
  const [one] = await all.beginTwo();
  await exchange(one, 'ann', 'hello', 'hi');
  await deliverAll(one);
  await all.owned('ann', null);
  await accept(one, said('ann', 'again'));
  // It needs no read, so it is there at once.
  const [second] = await takeIn(one);
  assert.deepEqual(
    second?.memory.turns.map(({ text }) => text),
    ['hello'],
  );
});

postgresTest('what comes elsewhere does not wait for replies that wait', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await exchange(one, 'ann', 'first', 'one');
  const reply = await comesOut(one);
  await accept(other, said('ann', 'second'));
  await until('it is here', () => one.ledger.gauges().inboxWaiting === 1);
  await answer(one, await comesIn(one), 'two');
  await noneIn(other);
  assert.deepEqual(await takeOut(one), [], 'the first reply goes first');
  assert.equal(await one.ledger.delivered(reply), true);
  assert.equal((await comesOut(one)).reply.text, 'two');
});
