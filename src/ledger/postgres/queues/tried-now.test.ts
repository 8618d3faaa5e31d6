/**
 * A person at one instance asks for another try of replies that other instances have in hand, or
 * none.
 */
import assert from 'node:assert/strict';
import { deliver, exchange, noneOut, until } from '../../../../test/contract/ledger/kit.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { comesOut, TestStores, type TestStore } from '../../../../test/fake/postgres/stores.ts';
import { failure } from '../../../domain/failure.ts';
import type { OutClaim } from '../../ledger.ts';

/**
 * The receiver asks for an hour, so the next try may lie ahead, also where the queue is taken
 * again.
 */
const why = failure('server_error', { status: 500, retryAfterMs: 3_600_000 });
const any = { channel: null, failure: null, status: null };

/** A reply that is tried again in an hour. @returns its id */
async function failed(store: TestStore, conversation: string, park: boolean): Promise<string> {
  await exchange(store, conversation, 'hello', `to ${conversation}`);
  const claim = await comesOut(store);
  const how = { park, possibleDuplicate: false };
  assert.equal(await store.ledger.defer(claim, Date.now() + 3_600_000, why, how), true);
  return claim.reply.id;
}

/** Takes and delivers replies at all of them, until there are so many. */
async function sentBy(stores: readonly TestStore[], number: number): Promise<readonly OutClaim[]> {
  const sent: OutClaim[] = [];
  const take = async (): Promise<void> => {
    for (const store of stores) {
      const claims = await store.ledger.claim('out', 'webhook' as never, 100);
      sent.push(...claims);
      await deliver(store, ...claims);
    }
  };
  await until(`${number} are sent`, async () => (await take(), sent.length >= number));
  await take();
  return sent;
}

postgresTest('a reply that another instance has in hand is tried there', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  const id = await failed(one, 'ann', false);
  const result = await other.ledger.deferred.tryNow({ kind: 'one', id }, 1);
  assert.deepEqual(result, { kind: 'moved', moved: 1, more: false });
  const claim = await comesOut(one);
  assert.deepEqual([claim.reply.id, claim.attempt, claim.attemptOfSchedule], [id, 2, 1]);
  await noneOut(other);
  await deliver(one, claim);
  await all.owned('ann', null);
});

postgresTest('a parked reply that is in nobody’s hands is tried by whoever takes it', async () => {
  await using all = await TestStores.open();
  const both = await all.beginTwo();
  const id = await failed(both[0], 'ann', true);
  await all.owned('ann', null);
  const result = await both[1].ledger.deferred.tryNow({ kind: 'one', id }, 1);
  assert.deepEqual(result, { kind: 'moved', moved: 1, more: false });
  const [claim, ...more] = await sentBy(both, 1);
  assert.equal(more.length, 0);
  assert.deepEqual(
    [claim!.reply.id, claim!.attempt, claim!.attemptOfSchedule, claim!.late],
    [id, 2, 1, true],
  );
});

postgresTest('all are counted, and tried once each, wherever they are', async () => {
  await using all = await TestStores.open();
  const both = await all.beginTwo();
  for (const name of ['ann', 'bob']) await failed(both[0], name, false);
  for (const name of ['cid', 'dan']) await failed(both[1], name, true);
  for (const name of ['cid', 'dan']) await all.owned(name, null);
  for (const { ledger } of both) {
    const groups = await ledger.deferred.groups();
    const seen = groups.map(({ channel, failure: kind, status, count }) => {
      return [channel, kind, status, count];
    });
    assert.deepEqual(seen, [['webhook', 'server_error', 500, 4]]);
  }
  const before = Date.now() + 1;
  const which = { kind: 'all', filter: any, before } as const;
  const first = await both[1].ledger.deferred.tryNow(which, 3);
  assert.deepEqual(first, { kind: 'moved', moved: 3, more: true });
  const sent = [...(await sentBy(both, 3))];
  const rest = await both[1].ledger.deferred.tryNow(which, 3);
  assert.deepEqual(rest, { kind: 'moved', moved: 1, more: false });
  sent.push(...(await sentBy(both, 1)));
  const texts = sent.map(({ reply }) => reply.text);
  assert.deepEqual(texts.toSorted(), ['to ann', 'to bob', 'to cid', 'to dan']);
});

postgresTest('asked at both at once, with messages between, each is sent once', async () => {
  await using all = await TestStores.open();
  const both = await all.beginTwo();
  for (let round = 0; round < 12; round++) {
    const id = await failed(both[round % 2]!, 'ann', round % 3 !== 0);
    await Promise.all(both.map(({ ledger }) => ledger.deferred.tryNow({ kind: 'one', id }, 1)));
    const sent = await sentBy(both, 1);
    assert.deepEqual(
      sent.map(({ reply, attempt }) => [reply.id, attempt]),
      [[id, 2]],
    );
    await all.owned('ann', null);
  }
});

postgresTest('what cannot be read of another release moves nothing', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await failed(one, 'ann', false);
  for (const body of ['', 'null', '{"ids":7}', '{"ids":[7,null]}', '{"replies":["a"]}']) {
    await other.peers.broadcast('try_now', body);
  }
  await noneOut(one);
  assert.equal(one.ledger.gauges().outboxDeferred, 1);
});
