/** Queues whose only rows are replies that are tried again later. */
import assert from 'node:assert/strict';
import {
  accept,
  answer,
  deliverAll,
  exchange,
  noneOut,
  said,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import {
  comesIn,
  comesOut,
  TestStores,
  type TestStore,
} from '../../../../test/fake/postgres/stores.ts';
import { failure } from '../../../domain/failure.ts';

const hour = 3_600_000;
/** The receiver asks for an hour, so the next try may lie ahead, also after a start. */
const why = failure('server_error', { retryAfterMs: hour });

/** A reply that is tried again in an hour, and blocks no other. @returns when that is */
async function park(store: TestStore, conversation: string): Promise<number> {
  await exchange(store, conversation, 'hello', `to ${conversation}`);
  const reply = await comesOut(store);
  const how = { park: true, possibleDuplicate: false };
  const dueAt = Date.now() + hour;
  assert.equal(await store.ledger.defer(reply, dueAt, why, how), true);
  return dueAt;
}

postgresTest('parked replies belong to nobody, and are sent once when they are due', async () => {
  await using all = await TestStores.open();
  const both = await all.beginTwo();
  for (const name of ['ann', 'bob', 'eve', 'joe']) await park(both[0], name);
  for (const name of ['ann', 'bob', 'eve', 'joe']) await all.owned(name, null);
  assert.equal((await all.queue('ann'))?.waits, 1);
  for (const store of both) await noneOut(store);
  await all.client.query('UPDATE svc.outbox SET due_at = 1');
  const sent: string[] = [];
  await until('all are sent', async () => {
    for (const store of both) sent.push(...(await deliverAll(store)));
    return sent.length >= 4;
  });
  await all.owned('ann', null);
  for (const store of both) sent.push(...(await deliverAll(store)));
  assert.deepEqual(sent.toSorted(), ['to ann', 'to bob', 'to eve', 'to joe']);
  assert.equal((await all.queue('ann'))?.waits, 0);
});

postgresTest(
  'a parked reply comes along with a message, and is not due before its time',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    await park(one, 'ann');
    await all.owned('ann', null);
    await accept(other, said('ann', 'again'));
    const claim = await comesIn(other);
    assert.equal(other.ledger.gauges().outboxDeferred, 1);
    await noneOut(other);
    await answer(other, claim);
    await all.owned('ann', null);
    assert.equal((await all.queue('ann'))?.waits, 1);
    assert.equal(other.ledger.gauges().outboxDeferred, 0);
  },
);

postgresTest('who is alone keeps parked replies in hand, until somebody comes', async () => {
  await using all = await TestStores.open();
  const one = await all.begin();
  const dueAt = await park(one, 'ann');
  await exchange(one, 'bob', 'hello');
  await all.owned('bob', null);
  assert.equal((await all.queue('ann'))?.owner, one.id);
  assert.equal(one.ledger.gauges().outboxDeferred, 1);
  const other = await all.begin();
  await all.owned('ann', null);
  assert.equal(one.ledger.gauges().outboxDeferred, 0);
  await one.close();
  await all.owned('ann', other.id);
  await until('it has it', () => other.ledger.gauges().outboxDeferred === 1);
  await other.close();
  const last = await all.begin();
  const { rows } = await all.client.query('SELECT due_at FROM svc.outbox');
  assert.deepEqual(rows, [{ due_at: dueAt }], 'no start made it sooner');
  assert.equal(last.ledger.gauges().outboxDeferred, 1, 'at once');
});
