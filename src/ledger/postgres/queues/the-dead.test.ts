/** The queues of an instance that has died, and which messages are suspected of its end. */
import assert from 'node:assert/strict';
import {
  accept,
  answer,
  effects,
  exchange,
  hook,
  noneIn,
  said,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { died, idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { shortTimes } from '../../../../test/fake/postgres/instances.ts';
import {
  comesIn,
  comesOut,
  TestStores,
  type TestStore,
} from '../../../../test/fake/postgres/stores.ts';
import { handClock } from '../../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';
import { failure } from '../../../domain/failure.ts';
import type { OutClaim } from '../../ledger.ts';

const quick = { limits: { aloneMs: 30_000, besideMs: 0, stallMs: 120_000 } };

/** A message of ann is in hand and one waits. A reply of bob is in hand, and one of eve waits. */
async function atWork(one: TestStore): Promise<void> {
  await exchange(one, 'bob', 'hello', 'to bob', 'also to bob');
  await comesOut(one);
  await exchange(one, 'eve', 'hello', 'to eve');
  const reply = await comesOut(one);
  const how = { park: false, possibleDuplicate: false };
  const why = failure('server_error', { retryAfterMs: 3_600_000 });
  assert.equal(await one.ledger.defer(reply, Date.now() + 3_600_000, why, how), true);
  await accept(one, said('ann', 'in hand'), said('ann', 'behind'));
  await comesIn(one);
}

postgresTest('the message that was in hand counts as tried, and no other', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await atWork(one);
  await all.bury(one);
  const first = await comesIn(other);
  assert.deepEqual([first.message.text, first.attempt], ['in hand', 2]);
  await answer(other, first);
  const second = await comesIn(other);
  assert.deepEqual([second.message.text, second.attempt], ['behind', 1]);
});

postgresTest('a reply that was due may have been sent, and no other', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await atWork(one);
  await all.bury(one);
  const first = await comesOut(other);
  assert.equal(first.reply.text, 'to bob');
  assert.deepEqual([first.attempt, first.attemptOfSchedule, first.possibleDuplicate], [2, 1, true]);
  await other.ledger.delivered(first);
  const second = await comesOut(other);
  assert.equal(second.reply.text, 'also to bob');
  assert.deepEqual([second.attempt, second.possibleDuplicate], [1, false]);
  assert.equal(other.ledger.gauges().outboxDeferred, 1);
  await all.client.query("UPDATE svc.outbox SET due_at = 1 WHERE conversation = 'eve'");
  await all.bury(other);
  const third = await all.begin();
  const told = [await comesOut(third), await comesOut(third)].map((claim) => {
    return `${claim.reply.text} ${claim.attempt} ${claim.possibleDuplicate}`;
  });
  assert.deepEqual(told.toSorted(), ['also to bob 2 true', 'to eve 3 true']);
});

postgresTest('a clock that was ahead holds up nothing that another one takes over', async () => {
  await using all = await TestStores.open();
  const day = 86_400_000;
  const why = JSON.stringify(failure('server_error'));
  const [one, other] = await all.beginTwo();
  const next = { attempts: 1, failure: why, due_at: Date.now() + 40 * day };
  await put(all.client, 'lane', { owner: one.id, tail: 1 });
  await put(all.client, 'outbox', next);
  await all.bury(one);
  const claim = await comesOut(other);
  assert.deepEqual([claim.attempt, claim.possibleDuplicate], [3, true], 'it may have been sent');
  const beside = await all.begin();
  await until(
    'both know each other',
    () => other.peers.limitShare() + beside.peers.limitShare() === 4,
  );
  await put(all.client, 'lane', { conversation: 'bob', waits: 1 });
  const bobs = { id: `${idOf(2)}-00`, conversation: 'bob', parked: true };
  await put(all.client, 'outbox', { ...next, ...bobs });
  const told: { readonly replies: number }[] = [];
  const third = await all.begin({ news: { clockWasAhead: (news) => told.push(news) } });
  assert.deepEqual(
    told.map(({ replies }) => replies),
    [1],
  );
  const bob = ({ reply }: OutClaim): boolean => reply.conversation === 'bob';
  await until('the parked one comes', async () => {
    const claims = [other, beside, third].map(({ ledger }) => ledger.claim('out', hook, 1));
    return (await Promise.all(claims)).flat().some(bob);
  });
});

postgresTest('an orderly end blames nobody', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await atWork(one);
  await one.close();
  const claim = await comesIn(other);
  assert.deepEqual([claim.message.text, claim.attempt], ['in hand', 1]);
  const reply = await comesOut(other);
  assert.deepEqual(
    [reply.reply.text, reply.attempt, reply.possibleDuplicate],
    ['to bob', 1, false],
  );
});

postgresTest('what an orderly end could not let go is nobody’s fault, either', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await atWork(one);
  await all.bury(one, { clean: true });
  const claim = await comesIn(other);
  assert.deepEqual([claim.message.text, claim.attempt], ['in hand', 1]);
  const reply = await comesOut(other);
  assert.deepEqual([reply.attempt, reply.possibleDuplicate], [1, false]);
});

postgresTest('what is locked at an orderly end is nobody’s fault, either', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  await atWork(one);
  const client = await all.another();
  await client.query('BEGIN; SELECT FROM svc.lane FOR UPDATE');
  await one.close();
  assert.equal((await all.queue('ann'))?.owner, one.id);
  await client.query('COMMIT');
  const claim = await comesIn(other);
  assert.deepEqual([claim.message.text, claim.attempt], ['in hand', 1]);
  const reply = await comesOut(other);
  assert.deepEqual([reply.attempt, reply.possibleDuplicate], [1, false]);
});

postgresTest('one that was declared dead takes no queue any more', async () => {
  await using all = await TestStores.open();
  const one = await all.begin();
  const client = await all.another();
  await client.query('BEGIN; UPDATE svc.instance SET dead = true');
  await put(client, 'lane', { waits: 2 });
  await put(client, 'inbox', {});
  await client.query('COMMIT');
  // It looks for waiting rows.
  one.ledger.serve([hook]);
  await until('its storage has failed', () => one.fault() !== null);
  assert.equal((await all.queue('ann'))?.owner, null);
});

postgresTest(
  'an end by the storage blames no message; what was due may have been sent',
  async () => {
    await using all = await TestStores.open();
    const [one, other] = await all.beginTwo();
    await atWork(one);
    await all.bury(one, { alone: null });
    const claim = await comesIn(other);
    assert.deepEqual([claim.message.text, claim.attempt], ['in hand', 1]);
    const reply = await comesOut(other);
    assert.deepEqual([reply.attempt, reply.possibleDuplicate], [2, true]);
  },
);

postgresTest('one that falls silent is dead after a while, and can write no more', async () => {
  await using all = await TestStores.open();
  const clock = handClock();
  const peersTimes = { ...shortTimes, holdMs: patienceMs };
  const [one, other] = await all.beginTwo({ steady: clock.steady, peersTimes });
  await accept(one, said('ann', 'hello'));
  const claim = await comesIn(one);
  one.way.hold();
  const heartbeats = async (): Promise<number> => Number((await all.instance(other.id))['grp']);
  for (let passed = 0; passed <= 2 * shortTimes.deadMs; passed += shortTimes.deadMs / 4) {
    clock.pass(shortTimes.deadMs / 4);
    const before = await heartbeats();
    await until('the other beats', async () => (await heartbeats()) > before + 1);
  }
  const again = await comesIn(other);
  assert.deepEqual([again.message.id, again.attempt], [claim.message.id, 2]);
  const late = one.ledger.complete(claim, effects(claim, []));
  one.way.release();
  assert.equal(await late, false);
  await until('its storage has failed', () => one.fault() !== null);
  await answer(other, again, 'hi');
  const { rows } = await all.client.query('SELECT attempts, outcome FROM svc.message');
  assert.deepEqual(rows, [{ attempts: 1, outcome: 'reply' }]);
});

postgresTest('its queues are free before it counts as cleaned up', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  const names = Array.from({ length: 30 }, (_, at) => `c${at}`);
  await accept(one, ...names.map((name) => said(name, `of ${name}`)));
  await all.bury(one);
  const texts: string[] = [];
  for (const _ of names) {
    const claim = await comesIn(other);
    assert.equal(claim.attempt, 2);
    texts.push(claim.message.text);
    await answer(other, claim);
  }
  assert.deepEqual(texts.toSorted(), names.map((name) => `of ${name}`).toSorted());
  await until('it is buried', async () => {
    const { rows } = await all.client.query('SELECT buried FROM svc.instance WHERE id = $1', [
      one.id,
    ]);
    return (rows[0] as { buried: boolean }).buried;
  });
});

postgresTest('a suspected message is left to the one that has the lease', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo(quick);
  assert.equal(one.peers.holds('quarantine'), true, 'who came first');
  const waits = { tail: 1, waits: 3 };
  const again = { attempts: 2 };
  // Nobody may take it before more has come at the other instance.
  const client = await all.another();
  await client.query('BEGIN');
  await put(client, 'lane', waits);
  await put(client, 'inbox', again);
  await client.query('COMMIT');
  await accept(other, said('ann', 'behind it'));
  assert.notEqual((await all.queue('ann'))?.owner, other.id);
  const suspect = await comesIn(one);
  assert.deepEqual([suspect.message.id, suspect.attempt], [idOf(1), 3]);
  await noneIn(other);
  await answer(one, suspect);
  assert.equal((await comesIn(one)).message.text, 'behind it');
});

postgresTest('at its second unclean end a message is suspected', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo(quick);
  await put(all.client, 'lane', { owner: one.id, tail: 2 });
  await put(all.client, 'inbox', { attempts: 1 }, { id: idOf(2), n: 2 });
  await all.bury(one);
  await until('it has the post', () => other.peers.holds('quarantine'));
  const suspect = await comesIn(other);
  assert.deepEqual([suspect.message.id, suspect.attempt], [idOf(1), 3]);
  const mark = await all.client.query('SELECT attempts, alone FROM svc.inbox ORDER BY n');
  assert.deepEqual(mark.rows, [
    { attempts: 2, alone: 1 },
    { attempts: 0, alone: 0 },
  ]);
});

postgresTest('a storage that failed while a message ran alone was not ended by it', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo(quick);
  await put(all.client, 'lane', { owner: one.id }, { owner: one.id, conversation: 'bob' });
  await put(all.client, 'inbox', { attempts: 2, alone: 2 });
  await put(all.client, 'inbox', { id: idOf(2), conversation: 'bob', attempts: 2, alone: 2 });
  await all.bury(one, { alone: idOf(1) });
  const poison = new Map<string, boolean>();
  while (poison.size < 2) {
    const claim = await comesIn(other);
    poison.set(claim.message.id, claim.poison);
    const ended = claim.poison
      ? other.ledger.deadLetter(claim, failure('server_error'))
      : other.ledger.complete(claim, effects(claim, []));
    assert.equal(await ended, true);
  }
  assert.deepEqual([poison.get(idOf(1)), poison.get(idOf(2))], [false, true]);
});

postgresTest('rows in a queue for which nobody looks are found', async () => {
  await using all = await TestStores.open();
  const both = await all.beginTwo();
  await put(all.client, 'lane', { waits: 0 }, { conversation: 'bob', waits: 0 });
  await put(all.client, 'inbox', {});
  await put(all.client, 'outbox', { conversation: 'bob', id: `${idOf(5)}-00`, failure: died });
  let found = 0;
  await until('both are found', async () => {
    for (const { ledger } of both) {
      for (const box of ['in', 'out'] as const) {
        const claims = await ledger.claim(box as 'in', 'webhook' as never, 5);
        for (const { attempt } of claims) assert.equal(attempt, 1);
        found += claims.length;
      }
    }
    return found >= 2;
  });
});
